#include "belfry/base/internal/crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "belfry/base/internal/crc32c_table.h"
#include "belfry/base/random.h"

namespace belfry {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// RFC 3720, B.4, and the check value of the catalogue of CRCs.
TEST(Crc32c, HasTheValuesOfTheStandard) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8A9136AAu);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62A8AB43u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, InstructionAndTableAgreeAtEveryLengthAndAlignment) {
  RandomStream random(1);
  std::string text(300, '\0');
  for (char& c : text) c = static_cast<char>(random.bits());
  for (std::size_t from = 0; from < 9; ++from)
    for (std::size_t length = 0; length < 70; ++length) {
      const auto part = bytes_of(text).subspan(from, length);
      ASSERT_EQ(crc32c(part), crc32c_by_table(part)) << from << " " << length;
    }
}

TEST(Crc32c, ContinuesWhereAnotherEnded) {
  const std::string text = "what is written in two pieces";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(bytes_of(text).subspan(cut), crc32c(bytes_of(text).first(cut))), crc32c(bytes_of(text)));
}

}  // namespace
}  // namespace belfry
