// Another process of this program, which trains.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/torture/shared/resumable_training.h"

namespace belfry::torture {

class Child {
 public:
  // What it prints goes to <directory>.output.
  explicit Child(const TrainingOptions& options);
  ~Child();  // kills and waits, if nobody has waited
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) const;
  int wait();  // once; what waitpid() says

 private:
  pid_t process_ = -1;
};

// What the child's main() does with its arguments; the exit code.
int train_as_child(int argc, char** argv);

}  // namespace belfry::torture
