#include "belfry/ops/internal/einsum_equation.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "belfry/base/check.h"

namespace belfry {
namespace {

constexpr std::string_view kDots = "...";

class Reader {
 public:
  Reader(std::string_view equation, const Tensors& operands, const std::string& line)
      : title_(fmt::format("[einsum \"{}\"]", equation)), operands_(operands), line_(line) {
    std::ranges::copy_if(equation, std::back_inserter(text_), [](char c) { return c != ' '; });
  }

  EinsumEquation read() {
    const std::size_t arrow = text_.find("->");
    const std::vector<std::string> written = split(text_.substr(0, arrow));
    BELFRY_CHECK(written.size() == operands_.size(), "{} expected {} operands, one for each term, got {} {}", title_,
                 written.size(), operands_.size(), line_);
    for (std::size_t i = 0; i < written.size(); ++i) {
      check_text(written[i]);
      hidden_ = std::max(hidden_, hidden_axes(written[i], operands_[i]));
    }
    EinsumEquation out;
    for (std::size_t i = 0; i < written.size(); ++i)
      out.terms.push_back(expand(written[i], hidden_axes(written[i], operands_[i])));
    check_sizes(out.terms);
    out.output = arrow == std::string::npos ? implied_output(out.terms) : explicit_output(text_.substr(arrow + 2), out);
    return out;
  }

 private:
  static std::vector<std::string> split(const std::string& terms) {
    std::vector<std::string> out(1);
    for (char c : terms) {
      if (c == ',')
        out.emplace_back();
      else
        out.back() += c;
    }
    return out;
  }

  void check_text(const std::string& term) const {
    const std::size_t dots = term.find(kDots);
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (i == dots) {
        i += kDots.size() - 1;
        continue;
      }
      BELFRY_CHECK(std::isalpha(static_cast<unsigned char>(term[i])) != 0,
                   "{} expected letters, and '...' at most once, in a term, got '{}' in '{}' {}. Write it like "
                   "\"...ij,jk->...ik\".",
                   title_, term[i], term, line_);
    }
  }

  // How many axes of the operand are under its "...".
  int hidden_axes(const std::string& term, const Tensor& operand) const {
    const bool dots = term.find(kDots) != std::string::npos;
    const int letters = static_cast<int>(term.size() - (dots ? kDots.size() : 0)), rank = operand.rank();
    BELFRY_CHECK(dots ? rank >= letters : rank == letters,
                 "{} expected an operand of rank {}{} for '{}', got '{}' {} {}", title_, letters,
                 dots ? " or more" : "", term, operand.name(), to_string(operand.shape()), line_);
    return rank - letters;
  }

  // With digits for "...", counted so that the last axes of all operands have the same ones.
  std::string expand(const std::string& term, int hidden) const {
    std::string digits;
    for (int i = hidden_ - hidden; i < hidden_; ++i) digits += static_cast<char>('0' + i);
    const std::size_t dots = term.find(kDots);
    return dots == std::string::npos ? term : term.substr(0, dots) + digits + term.substr(dots + kDots.size());
  }

  void check_sizes(const std::vector<std::string>& terms) const {
    std::map<char, std::pair<std::int64_t, Tensor>> known;
    for (std::size_t i = 0; i < terms.size(); ++i)
      for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
        const char label = terms[i][axis];
        const std::int64_t size = operands_[i].shape()[static_cast<int>(axis)];
        if (size == kAny || (size == 1 && !is_einsum_letter(label))) continue;
        const auto& [first, owner] = known.try_emplace(label, size, operands_[i]).first->second;
        BELFRY_CHECK(first == size, "{} expected one size for {}, got {} in '{}' {} and {} in '{}' {} {}", title_,
                     is_einsum_letter(label) ? fmt::format("'{}'", label) : "an axis under '...'", first, owner.name(),
                     to_string(owner.shape()), size, operands_[i].name(), to_string(operands_[i].shape()), line_);
      }
  }

  std::string implied_output(const std::vector<std::string>& terms) const {
    std::map<char, int> count;  // digits come before letters
    for (const std::string& term : terms)
      for (char label : term) ++count[label];
    std::string out;
    for (const auto& [label, times] : count)
      if (times == 1 || !is_einsum_letter(label)) out += label;
    return out;
  }

  std::string explicit_output(const std::string& written, const EinsumEquation& equation) const {
    check_text(written);
    BELFRY_CHECK(hidden_ == 0 || written.find(kDots) != std::string::npos,
                 "{} expected '...' in the result, since an operand has axes under it, got '{}' {}. Add it, and use "
                 "reduce_sum() to sum over them.",
                 title_, written, line_);
    std::string out = expand(written, hidden_);
    for (std::size_t i = 0; i < out.size(); ++i) {
      BELFRY_CHECK(out.find(out[i], i + 1) == std::string::npos,
                   "{} expected every letter at most once in the result, got '{}' twice in '{}' {}", title_, out[i],
                   written, line_);
      BELFRY_CHECK(std::ranges::any_of(equation.terms,
                                       [&](const std::string& term) { return term.find(out[i]) != std::string::npos; }),
                   "{} expected letters of the operands in the result, got '{}', which none of them has {}", title_,
                   out[i], line_);
    }
    return out;
  }

  std::string title_, text_;
  const Tensors& operands_;
  const std::string& line_;
  int hidden_ = 0;  // the most axes that an operand has under "..."
};

}  // namespace

EinsumEquation read_einsum(std::string_view equation, const Tensors& operands, const std::string& line) {
  return Reader(equation, operands, line).read();
}

}  // namespace belfry
