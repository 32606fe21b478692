#include "tests/torture/trainings/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "belfry/launch/stop_on_signal.h"

extern char** environ;  // NOLINT: POSIX leaves the declaration to us

namespace belfry::torture {

Child::Child(const TrainingOptions& o) {
  std::vector<std::string> words{"torture",
                                 "train",
                                 o.directory,
                                 o.optimizer,
                                 o.trainer,
                                 std::to_string(o.kill_at),
                                 o.without.empty() ? "-" : o.without,
                                 std::to_string(o.samples),
                                 std::to_string(o.stall_ms)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string log = o.directory + ".output";
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const int error = ::posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(error));
}

Child::~Child() {
  if (process_ < 0) return;
  send(SIGKILL);
  wait();
}

void Child::send(int signal) const { ::kill(process_, signal); }

int Child::wait() {
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return status;
}

int train_as_child(int argc, char** argv) try {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 9) throw std::runtime_error("train: expected 7 arguments");
  TrainingOptions options{.directory = argv[2],
                          .optimizer = argv[3],
                          .trainer = argv[4],
                          .kill_at = std::stoll(argv[5]),
                          .without = argv[6],
                          .samples = std::stoll(argv[7]),
                          .stall_ms = std::stoi(argv[8])};
  if (options.without == "-") options.without.clear();
  train(options);
  return 0;
} catch (const Interrupted& end) {
  std::fprintf(stderr, "%s\n", end.what());
  return end.exit_code();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

}  // namespace belfry::torture
