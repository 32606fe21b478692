// Texts in columns, for the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::tools {

enum class Align : std::uint8_t { left, right };

// Two spaces between columns, none at the ends of lines. Rows may be shorter than the list of columns.
std::string text_table(const std::vector<Align>& columns, const std::vector<std::vector<std::string>>& rows,
                       const std::string& indent = "");

std::string bytes_text(std::uint64_t bytes);                      // "512 B", "1.2 kB", "3.4 GB": powers of 1000
std::string number_text(double value);                            // six digits, "nan", "-inf"
std::string count_text(std::int64_t n, const std::string& noun);  // "1 tensor", "3 tensors"

// How wide a text is on a terminal: characters, not bytes.
std::size_t width_of(const std::string& text);

}  // namespace belfry::tools
