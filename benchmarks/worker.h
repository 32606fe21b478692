// Another process of this program, which times rounds on command (see rounds.cc).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace belfry::bench {

struct Round {
  double items = 0, seconds = 0;
  double items_per_s() const { return items / seconds; }
};

class Worker {
 public:
  explicit Worker(std::vector<std::string> arguments);  // of the command line
  ~Worker();                                            // the process then ends by itself
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void wait_until_ready();
  void start_round();
  Round finish_round();

 private:
  std::string read_line();

  std::vector<std::string> arguments_;
  int socket_ = -1;  // the worker's stdin and stdout
  pid_t process_ = -1;
  std::string read_;  // what came after the last line
};

}  // namespace belfry::bench
