#include "belfry/base/internal/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace belfry {
namespace {

// "a/b/c" ends with the scoped name "b/c", but not with "/c" or "c" cut out of "abc".
bool is_scoped_tail(std::string_view longer, std::string_view tail) {
  return !tail.empty() && longer.size() > tail.size() && longer.ends_with(tail) &&
         longer[longer.size() - tail.size() - 1] == '/';
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

// Rows of the table d[i][j] = distance of the first i characters of a and the first j of b; three rows are enough:
//   d[i][j] = min(d[i-1][j] + 1, d[i][j-1] + 1, d[i-1][j-1] + (a_i != b_j), d[i-2][j-2] + 1 if swapped)
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> candidates,
                                       std::size_t count) {
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string& name : candidates) {
    const std::size_t shorter = std::min(wanted.size(), name.size()), longer = std::max(wanted.size(), name.size());
    if (name.starts_with(wanted) && name.substr(wanted.size()) == "/output") {
      found.emplace_back(0, name);
    } else if (is_scoped_tail(name, wanted) || is_scoped_tail(wanted, name) || equal_but_for_case(wanted, name)) {
      found.emplace_back(1, name);
    } else if (longer - shorter <= longer / 2) {
      const std::size_t distance = edit_distance(wanted, name);
      if (distance <= longer / 2) found.emplace_back(distance, name);
    }
  }
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(count, found.size()); ++i) out.emplace_back(found[i].second);
  return out;
}

std::string did_you_mean(std::string_view wanted, std::span<const std::string> candidates, std::size_t count) {
  const std::vector<std::string> names = nearest_names(wanted, candidates, count);
  if (names.empty()) return "";
  std::string text = " Did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "'" : i + 1 == names.size() ? " or '" : ", '") + names[i] + "'";
  return text + "?";
}

}  // namespace belfry
