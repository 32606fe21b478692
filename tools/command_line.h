// The command lines of the examples. Not part of the library.
//
//   CommandLine command("Clusters points by k-means", "kmeans");
//   command.number("--k", k, {1, 1000}, "centres");
//   return command.run(argc, argv, [&] { cluster(k); });
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "belfry/base/function_ref.h"

namespace belfry::tools {

struct Between {
  double low = std::numeric_limits<double>::lowest(), high = std::numeric_limits<double>::max();
};

// Arguments that are valid separately but not together.
struct BadArgument : std::runtime_error {
  BadArgument(std::string option, const std::string& why) : runtime_error(why), name(std::move(option)) {}
  std::string name;
};

// Names begin with dashes, those of positional arguments do not ("text"; "run,--run-dir" allows both).
// A variable's initial value is the default.
class CommandLine {
 public:
  CommandLine(const std::string& purpose, const std::string& program);
  ~CommandLine();

  void number(const char* name, int& value, Between range, const char* meaning = "");
  void number(const char* name, std::int64_t& value, Between range, const char* meaning = "");
  void number(const char* name, float& value, Between range, const char* meaning = "");
  void number(const char* name, double& value, Between range, const char* meaning = "");
  void seed(const char* name, std::uint64_t& value, const char* meaning);
  void text(const char* name, std::string& value, const char* meaning);
  void required(const char* name, std::string& value, const char* meaning);
  void one_of(const char* name, std::string& value, const std::vector<std::string>& values, const char* meaning);
  void flag(const char* name, bool& value, const char* meaning);
  // --resume auto|never|PATH (see resume_option.h). After a signal the program says how to go on.
  void resume(std::string& how);

  // Reads the arguments, then calls `work`. Returns the exit code: see main_of() in cli_main.h; 2 for a BadArgument.
  int run(int argc, char** argv, FunctionRef<void()> work);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace belfry::tools
