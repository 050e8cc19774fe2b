// Two Unicode general categories, needed to order map keys as the reference YAML writer does.
#pragma once

namespace strake::codec {

/// General category L (Unicode 15.0).
bool is_unicode_letter(char32_t code_point);

/// General category Nd (Unicode 15.0).
bool is_unicode_digit(char32_t code_point);

}  // namespace strake::codec
