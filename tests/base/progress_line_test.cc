#include "belfry/base/progress_line.h"

#include <gtest/gtest.h>

namespace belfry {
namespace {

TEST(ProgressText, ShowsABarTheSpeedAndWhatIsLeft) {
  EXPECT_EQ(progress_text({.done = 1, .total = 4, .seconds = 2, .unit = "points"}),
            "[=======                       ] 1/4  0.5 points/s  0:06 left");
  EXPECT_EQ(progress_text({.done = 10, .total = 10, .seconds = 4}), "10/10  2.5 steps/s");
  EXPECT_EQ(progress_text({.done = 0, .total = 2}), "[                              ] 0/2");
  EXPECT_EQ(progress_text({.done = 1, .total = 3601, .seconds = 1}),
            "[                              ] 1/3601  1.0 steps/s  1:00:00 left");
}

TEST(ProgressLine, IsDrawnOnTerminalsOrWhereAskedFor) {
  std::FILE* file = std::tmpfile();
  EXPECT_FALSE(ProgressLine(file, {}).shown());
  EXPECT_FALSE(ProgressLine(file, false).due());
  ProgressLine line(file, true);
  EXPECT_TRUE(line.due());
  line.draw("half");
  line.clear();
  line.clear();  // nothing is there
  char text[32] = {};
  std::rewind(file);
  EXPECT_EQ(std::fread(text, 1, sizeof text, file), 12u);
  EXPECT_STREQ(text, "\rhalf\033[K\r\033[K");
  std::fclose(file);
}

}  // namespace
}  // namespace belfry
