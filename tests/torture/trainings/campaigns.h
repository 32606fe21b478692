// The campaigns of belfry_torture: each tries to break what training promises, many times, and counts.
#pragma once

#include <cstdint>
#include <string>

namespace belfry::torture {

struct ResumeCounts {
  int resumes = 0, inexact = 0;
  int controls = 0, blind = 0;  // a part was left out on purpose, and nothing differed
};
// Kills a training at each step, continues it with the same command, and compares it with one that was not killed:
// every optimizer with every trainer, at most `most` times in all; then one training that is killed 20 times. Then
// leaves out one part of the state after the other, which has to show.
ResumeCounts resume_campaign(int most);

struct SignalCounts {
  int signals = 0, wrong_exit = 0, inexact = 0, early = 0;  // early: it came before the training could see it
  double slowest_s = 0;                                     // from the signal to the end of the process
};
// Sends SIGTERM at random moments, in steps, validations and waits for data; continues, and compares.
SignalCounts signal_campaign(int count, std::uint64_t seed);

}  // namespace belfry::torture
