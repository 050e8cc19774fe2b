// The translation unit that owns the precompiled header (StrakeTree.cmake).
