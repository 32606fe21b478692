// Ill treatment of saved checkpoints: ./dev torture. One line of results, with --json as JSON; exit code 1 if anything
// was lost or not noticed.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/torture/campaigns.h"
#include "tests/torture/speed.h"
#include "tools/cli_main.h"
#include "tools/command_line.h"

namespace belfry::torture {
namespace {

struct Options {
  std::int64_t kills = 1000, faults = 100'000, flips = 10'000, speed = 0;
  bool power = true;
  bool json = false;
  std::uint64_t seed = 1;
};

// Keeps the order in which the results are given.
class Results {
 public:
  void add(const char* tries, const char* bad, const Outcome& outcome) {
    values_[tries] = outcome.tries;
    values_[bad] = outcome.bad;
    is_bad_ = is_bad_ || outcome.bad > 0;
  }
  void add(const char* name, double value) { values_[name] = std::round(value * 100) / 100; }
  void add(const Speeds& speeds) {
    add("plain_write_mb_s", speeds.plain_write);
    add("save_mb_s", speeds.save);
    add("save_part", speeds.save / speeds.plain_write);
    add("plain_read_cold_mb_s", speeds.plain_read_cold);
    add("load_cold_mb_s", speeds.load_cold);
    add("load_cold_part", speeds.load_cold / speeds.plain_read_cold);
    add("plain_read_mb_s", speeds.plain_read);
    add("load_mb_s", speeds.load);
  }
  bool is_bad() const { return is_bad_; }

  std::string text(bool json) const {
    if (json) return values_.dump();
    std::string out;
    for (const auto& [name, value] : values_.items()) out += (out.empty() ? "" : ", ") + value.dump() + " " + name;
    return out;
  }

 private:
  nlohmann::ordered_json values_;
  bool is_bad_ = false;
};

int torture(const Options& options) {
  Results results;
  results.add("kills", "lost", kills(options.kills, options.seed));
  results.add("faults", "lost_after_fault", faults(options.faults));
  results.add("flips", "undetected", flips(options.flips, options.seed));
  if (options.power) {
    results.add("power_failures", "lost_after_power_failure", power_failures());
    results.add("broken_orders", "broken_orders_unnoticed", broken_orders());
  }
  if (options.speed > 0) results.add(measure_speeds(options.speed));
  std::cout << results.text(options.json) << std::endl;
  return results.is_bad() ? 1 : 0;
}

}  // namespace
}  // namespace belfry::torture

int main(int argc, char** argv) {
  using belfry::torture::Options;
  Options options;
  int result = 0;
  bool no_power = false;
  belfry::tools::CommandLine command("Tries to lose checkpoints", "torture");
  constexpr double kMany = 1e9;
  command.number("--kills", options.kills, {0, kMany}, "kill -9 at random moments during saving");
  command.number("--faults", options.faults, {0, kMany}, "system calls that fail, at most as many as there are ways");
  command.number("--flips", options.flips, {0, kMany}, "bits that flip in checkpoint files");
  command.number("--speed", options.speed, {0, 100'000}, "MB to be saved and loaded, and written and read plainly");
  command.flag("--no-power", no_power, "leave out the power failures");
  command.seed("--seed", options.seed, "of the random moments and bits");
  command.flag("--json", options.json, "the results as one line of JSON");
  const int code = command.run(argc, argv, [&] {
    options.power = !no_power;
    result = belfry::torture::torture(options);
  });
  return code != 0 ? code : result;
}
