// Ill treatment of trainings: ./dev torture. They are killed and interrupted, go on, and must end with the same bits.
//
//   torture_trainings --resumes 400 --signals 200 [--seed 1]
#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tests/torture/trainings/campaigns.h"
#include "tests/torture/trainings/child.h"

namespace belfry::torture {
namespace {

int main_of(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "train") return train_as_child(argc, argv);
  std::map<std::string, std::uint64_t> options{{"--resumes", 0}, {"--signals", 0}, {"--seed", 1}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto at = options.find(argv[i]);
    if (at == options.end()) {
      fmt::print(stderr, "torture: there is no option '{}'.\n", argv[i]);
      return 2;
    }
    at->second = std::strtoull(argv[i + 1], nullptr, 10);
  }
  const ResumeCounts resumes = resume_campaign(static_cast<int>(options["--resumes"]));
  const SignalCounts signals = signal_campaign(static_cast<int>(options["--signals"]), options["--seed"]);
  const nlohmann::json out{{"resumes", resumes.resumes},   {"inexact", resumes.inexact + signals.inexact},
                           {"controls", resumes.controls}, {"blind", resumes.blind},
                           {"signals", signals.signals},   {"wrong_exit", signals.wrong_exit},
                           {"early", signals.early},       {"slowest_exit_s", signals.slowest_s}};
  fmt::print("{}\n", out.dump());
  const bool held = resumes.inexact + signals.inexact + resumes.blind + signals.wrong_exit == 0;
  return held ? 0 : 1;
}

}  // namespace
}  // namespace belfry::torture

int main(int argc, char** argv) try {
  return belfry::torture::main_of(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
