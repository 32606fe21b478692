#include "belfry/callbacks/monitors/scalar_printer.h"

#include <regex>

#include "belfry/base/check.h"
#include "belfry/base/log.h"

namespace belfry {

void ScalarPrinter::setup_graph() {
  try {
    const std::regex check(options_.only);
  } catch (const std::regex_error& error) {
    fail("[ScalarPrinter] expected a regular expression, got \"{}\" ({}).", options_.only, error.what());
  }
}

void ScalarPrinter::put_scalar(const std::string& name, double value, std::int64_t) { values_[name] = value; }

void ScalarPrinter::trigger() {
  const std::regex only(options_.only);
  for (const auto& [name, value] : values_)
    if (options_.only.empty() || std::regex_match(name, only)) log_info(fmt::format("{}: {:.5g}", name, value));
  values_.clear();
}

}  // namespace belfry
