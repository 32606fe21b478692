#include "benchmarks/worker.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <sstream>

#include "belfry/base/error.h"

extern char** environ;  // NOLINT: POSIX leaves the declaration to us

namespace belfry::bench {

// Close-on-exec everywhere: a worker that held another's socket would keep that one from noticing its end.
Worker::Worker(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(fmt::format("[bench] expected a pair of sockets, got: {}", std::strerror(errno)));
  socket_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = "bench";
  std::vector<char*> argv{name.data()};
  for (std::string& argument : arguments_) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int error = posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) return;
  close(socket_);
  throw Error(fmt::format("[bench] expected to start this program again, got: {}", std::strerror(error)));
}

Worker::~Worker() {
  close(socket_);
  waitpid(process_, nullptr, 0);
}

std::string Worker::read_line() {
  for (;;) {
    if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    char buffer[256];
    const ssize_t got = recv(socket_, buffer, sizeof(buffer), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      throw Error(fmt::format("[bench] expected an answer of 'bench {}', got the end of that process.",
                              fmt::join(arguments_, " ")));
    read_.append(buffer, static_cast<std::size_t>(got));
  }
}

void Worker::wait_until_ready() {
  if (const std::string line = read_line(); line != "ready")
    throw Error(fmt::format("[bench] expected 'ready' of a worker, got '{}'.", line));
}

// A worker that has died shows when its answer is read.
void Worker::start_round() { (void)send(socket_, "\n", 1, MSG_NOSIGNAL); }

Round Worker::finish_round() {
  Round out;
  std::istringstream line(read_line());
  if (!(line >> out.items >> out.seconds) || out.seconds <= 0)
    throw Error(fmt::format("[bench] expected items and seconds of a worker, got '{}'.", line.str()));
  return out;
}

}  // namespace belfry::bench
