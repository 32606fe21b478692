// 2,000 signals at random moments of training, validation and start-up.
#include "tests/launch/signal_storm.h"

namespace belfry {
namespace {

[[maybe_unused]] const auto* const trainee = testing_support::add_trainee();

class SignalStormTest : public testing::TestWithParam<unsigned> {};
TEST_P(SignalStormTest, EveryProcessEndsAsItShould) { testing_support::storm(50, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Seeds, SignalStormTest, testing::Range(1U, 41U));

}  // namespace
}  // namespace belfry
