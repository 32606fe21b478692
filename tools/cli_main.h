// How the programs of this repository end. CLI11 takes seconds to compile; command_line.h avoids including it.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>

#include "belfry/launch/train_config.h"

namespace belfry::tools {

// Reads the command line, then calls run(). Returns the exit code: 0, also after --help; 2 and one line on stderr for
// bad arguments; 128 + the signal's number, as a shell expects, if a signal ended a training; 1 and
// the error's text for anything else that run() throws.
template <class Run>
int main_of(CLI::App& app, int argc, char** argv, Run&& run) {
  try {
    app.parse(argc, argv);
    run();
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::string why = error.what();
    std::ranges::replace(why, '\n', ' ');
    fmt::print(stderr, "{}: {}. See {} --help.\n", app.get_name(), why, app.get_name());
    return 2;
  } catch (const Interrupted& end) {
    fmt::print(stderr, "{}\n", end.what());
    return end.exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

}  // namespace belfry::tools
