// The translation unit that owns the precompiled header (cmake/pch.h).
