#include "base/text_table.h"

#include <algorithm>

namespace strake {

std::string align_columns(const std::vector<std::vector<std::string>>& rows) {
  constexpr std::size_t kGap = 3;
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    // A last cell counts too: in another row the same column may be followed by one more.
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + kGap, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);  // a row that ends in empty cells
    text += '\n';
  }
  return text;
}

}  // namespace strake
