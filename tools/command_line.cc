#include "tools/command_line.h"

#include "tools/cli_main.h"

namespace belfry::tools {

struct CommandLine::State {
  State(const std::string& purpose, const std::string& program) : app(purpose, program) {}

  template <class T>
  void number(const char* name, T& value, const Between& range, const char* meaning) {
    CLI::Option* option = app.add_option(name, value, meaning)->capture_default_str();
    constexpr auto least = static_cast<double>(std::numeric_limits<T>::lowest());
    if (range.low <= least && range.high >= static_cast<double>(std::numeric_limits<T>::max())) return;
    option->check(CLI::Range(static_cast<T>(range.low), static_cast<T>(range.high)));
  }

  CLI::App app;
  CLI::Option* resume = nullptr;
};

CommandLine::CommandLine(const std::string& purpose, const std::string& program)
    : state_(std::make_unique<State>(purpose, program)) {}
CommandLine::~CommandLine() = default;

void CommandLine::number(const char* name, int& value, Between range, const char* meaning) {
  state_->number(name, value, range, meaning);
}
void CommandLine::number(const char* name, std::int64_t& value, Between range, const char* meaning) {
  state_->number(name, value, range, meaning);
}
void CommandLine::number(const char* name, float& value, Between range, const char* meaning) {
  state_->number(name, value, range, meaning);
}
void CommandLine::number(const char* name, double& value, Between range, const char* meaning) {
  state_->number(name, value, range, meaning);
}
void CommandLine::seed(const char* name, std::uint64_t& value, const char* meaning) {
  state_->app.add_option(name, value, meaning)->capture_default_str();
}

void CommandLine::text(const char* name, std::string& value, const char* meaning) {
  CLI::Option* option = state_->app.add_option(name, value, meaning);
  if (!value.empty()) option->capture_default_str();
}
void CommandLine::required(const char* name, std::string& value, const char* meaning) {
  state_->app.add_option(name, value, meaning)->required();
}
void CommandLine::one_of(const char* name, std::string& value, const std::vector<std::string>& values,
                         const char* meaning) {
  state_->app.add_option(name, value, meaning)->capture_default_str()->check(CLI::IsMember(values));
}
void CommandLine::flag(const char* name, bool& value, const char* meaning) {
  state_->app.add_flag(name, value, meaning);
}

void CommandLine::resume(std::string& how) {
  state_->resume = state_->app
                       .add_option("--resume", how,
                                   "auto: go on with the run in its directory, if there is one; never; or a "
                                   "checkpoint, or a run's directory, to go on from")
                       ->capture_default_str();
}

namespace {

// The program's own command line, with --resume auto.
std::string command_to_go_on(int argc, char** argv) {
  std::string out = argv[0];
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--resume") ++i;
    if (word.starts_with("--resume")) continue;
    const bool plain = word.find_first_of(" '\"\\$&|;<>()*?~`") == std::string::npos && !word.empty();
    out += plain ? " " + word : " '" + word + "'";
  }
  return out + " --resume auto";
}

}  // namespace

int CommandLine::run(int argc, char** argv, FunctionRef<void()> work) {
  return main_of(state_->app, argc, argv, [&] {
    try {
      work();
    } catch (const Interrupted&) {
      if (state_->resume != nullptr && state_->resume->as<std::string>() != "auto")
        fmt::print(stderr, "To go on: {}\n", command_to_go_on(argc, argv));
      throw;
    } catch (const BadArgument& bad) {
      throw CLI::ValidationError(bad.name, bad.what());
    }
  });
}

}  // namespace belfry::tools
