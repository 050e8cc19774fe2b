// For words nobody knows: the one that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace strake {

/// How many letters have to be changed, added, left out or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that is nearest; "" when none is near enough to have been meant.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);

/// "; did you mean 'json'?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace strake
