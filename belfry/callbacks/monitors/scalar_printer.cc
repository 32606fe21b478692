#include "belfry/callbacks/monitors/scalar_printer.h"

#include <regex>

#include "belfry/base/check.h"
#include "belfry/base/exact_number.h"
#include "belfry/base/log.h"
#include "belfry/callbacks/internal/named_values.h"
#include "belfry/callbacks/internal/restore_state.h"

namespace belfry {
namespace {

std::regex regex_of(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    fail("[ScalarPrinter] expected a regular expression, got \"{}\" ({}).", text, error.what());
  }
}

}  // namespace

void ScalarPrinter::setup_graph() {
  regex_of(options_.only);
  regex_of(options_.except);
}

void ScalarPrinter::put_scalar(const std::string& name, double value, std::int64_t) { values_[name] = value; }

void ScalarPrinter::trigger_step() {
  if (options_.every_step) trigger();
}

void ScalarPrinter::trigger() {
  if (values_.empty()) return;
  const std::regex only = regex_of(options_.only), except = regex_of(options_.except);
  for (const auto& [name, value] : values_) {
    if (!options_.only.empty() && !std::regex_match(name, only)) continue;
    if (!options_.except.empty() && std::regex_match(name, except)) continue;
    log_info(fmt::format("{}: {:.5g}", name, without_sign_of_nan(value)));
  }
  values_.clear();
}

std::string ScalarPrinter::state() const { return to_text(values_); }

void ScalarPrinter::restore(const std::string& state) {
  restore_state(name(), [&] { values_ = named_values_from(state); });
}

}  // namespace belfry
