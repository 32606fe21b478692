#include "belfry/callbacks/monitors/scalar_printer.h"

#include <algorithm>
#include <regex>

#include "belfry/base/check.h"
#include "belfry/base/internal/exact_number.h"
#include "belfry/base/log.h"
#include "belfry/callbacks/internal/named_values.h"
#include "belfry/callbacks/internal/restore_state.h"

namespace belfry {
namespace {

std::vector<std::regex> compiled(const std::vector<std::string>& expressions) {
  std::vector<std::regex> out;
  for (const std::string& text : expressions) {
    try {
      out.emplace_back(text);
    } catch (const std::regex_error& error) {
      fail("[ScalarPrinter] expected a regular expression, got \"{}\" ({}).", text, error.what());
    }
  }
  return out;
}

bool matches_one(const std::string& name, const std::vector<std::regex>& expressions) {
  return std::ranges::any_of(expressions, [&](const std::regex& r) { return std::regex_match(name, r); });
}

}  // namespace

void ScalarPrinter::setup_graph() {
  compiled(options_.only);
  compiled(options_.except);
}

void ScalarPrinter::put_scalar(const std::string& name, double value, std::int64_t) { values_[name] = value; }

void ScalarPrinter::trigger_step() {
  if (options_.every_step) trigger();
}

void ScalarPrinter::trigger() {
  if (values_.empty()) return;
  const std::vector<std::regex> only = compiled(options_.only), except = compiled(options_.except);
  for (const auto& [name, value] : values_) {
    if ((!only.empty() && !matches_one(name, only)) || matches_one(name, except)) continue;
    log_info(fmt::format("{}: {:.5g}", name, without_sign_of_nan(value)));
  }
  values_.clear();
}

std::string ScalarPrinter::state() const { return to_text(values_); }

void ScalarPrinter::restore(const std::string& state) {
  restore_state(name(), [&] { values_ = named_values_from(state); });
}

}  // namespace belfry
