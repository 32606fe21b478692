// A few signals at random moments of training, validation and start-up. signal_storm_slow_test.cc sends 2,000.
#include "tests/launch/signal_storm.h"

namespace belfry {
namespace {

[[maybe_unused]] const auto* const trainee = testing_support::add_trainee();

TEST(SignalStormTest, EveryProcessEndsAsItShould) { testing_support::storm(12, 1); }

}  // namespace
}  // namespace belfry
