// A process for what a test cannot do in its own: the test program runs itself again in a role.
//
//   const auto* const sleeper = testing::AddGlobalTestEnvironment(new Role("sleeper", [](const std::string&) {...}));
//   TEST(...) { OwnProcess process("sleeper", dir.path()); process.send(SIGINT); EXPECT_EQ(process.wait().status, 0); }
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>

namespace belfry::testing_support {

constexpr const char* kRole = "BELFRY_TEST_ROLE";
constexpr const char* kDirectory = "BELFRY_TEST_DIRECTORY";

// In a process that was started for it, `play` is called with its directory instead of any test and gives the exit
// code.
class Role final : public testing::Environment {
 public:
  Role(std::string name, std::function<int(const std::string&)> play)
      : name_(std::move(name)), play_(std::move(play)) {}
  void SetUp() override {
    const char* const role = std::getenv(kRole);
    if (role == nullptr || role != name_) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::exit(play_(std::getenv(kDirectory)));
  }

 private:
  std::string name_;
  std::function<int(const std::string&)> play_;
};

// A role's message to the process that started it.
constexpr int kSaid = 100;  // a pipe, in the role's process
inline void say(char letter) {
  if (::write(kSaid, &letter, 1) != 1) std::abort();
}

struct Ended {
  std::string said;
  int status = 0;  // of waitpid()
};

// With AVX2 and no more (see wide_net.h). What it prints goes to <directory>/output.
class OwnProcess {
 public:
  OwnProcess(const char* role, const std::string& directory) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ < 0) throw std::runtime_error("no process");
    if (child_ == 0) {
      ::dup2(ends[1], kSaid);
      const int log = ::open((directory + "/output").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
      for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(log, stream);
      ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
      ::setenv("BELFRY_ISA", "avx2", 1);
      ::setenv(kRole, role, 1);
      ::setenv(kDirectory, directory.c_str(), 1);
      ::execl("/proc/self/exe", role, "--gtest_filter=*", "--gtest_brief=1", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    said_ = ends[0];
  }
  ~OwnProcess() {
    if (child_ > 0) {
      send(SIGKILL);
      wait();
    }
  }
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  void send(int signal) const { ::kill(child_, signal); }

  // Once.
  Ended wait() {
    Ended out;
    char letter = 0;
    while (::read(said_, &letter, 1) == 1) out.said += letter;
    ::close(said_);
    ::waitpid(child_, &out.status, 0);
    child_ = 0;
    return out;
  }

 private:
  pid_t child_ = 0;
  int said_ = -1;  // the pipe's end
};

}  // namespace belfry::testing_support
