// Tables for people: columns aligned by their widest cell.
#pragma once

#include <string>
#include <vector>

namespace strake {

/// One line per row, three blanks between columns. The last cell of a row is not padded: it may be free text, and
/// blanks at the ends of lines help nobody. Rows may have different numbers of cells.
std::string align_columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace strake
