#include "belfry/dataflow/encoding.h"

#include "tests/dataflow/flow_testing.h"

namespace belfry {
namespace {

DataPoint every_dtype() {
  return {Array::of<float>({2, 1}, {1.5f, -2.f}),
          Array(0.25),
          Array(std::int32_t{-7}),
          Array(std::int64_t{1} << 40),
          Array(true),
          Array::of<std::uint8_t>({3}, {0, 128, 255}),
          Array(f32, {0, 4})};
}

TEST(Encoding, BringsBackWhatWasWritten) {
  const std::string bytes = encode(every_dtype());
  EXPECT_EQ(bytes.size(), encoded_bytes(every_dtype()));
  EXPECT_TRUE(same(decode(bytes, "a test"), every_dtype()));
  EXPECT_TRUE(decode(encode({}), "a test").empty());
}

TEST(Encoding, RefusesEveryTruncation) {
  const std::string bytes = encode(every_dtype());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(decode(std::string_view(bytes).substr(0, length), "a test"), FileError) << length;
}

TEST(Encoding, SaysWhatIsWrong) {
  const auto error = [](std::string bytes) { return error_of<FileError>([&] { decode(bytes, "a test"); }); };
  const std::string good = encode({Array::of<std::uint8_t>({2}, {1, 2})});
  const auto with = [&](std::size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    return bytes;
  };
  EXPECT_EQ(error("BDP1"),
            "[decode] expected 4 byte(s) of a number of components in a test, got 0. The datapoint is cut "
            "off or damaged.");
  EXPECT_EQ(error(with(0, 'X')),
            "[decode] expected a datapoint, which begins with 'BDP1', in a test, got something "
            "else.");
  EXPECT_EQ(error(with(8, 9)),
            "[decode] expected a dtype from 0 to 5 for component 0 in a test, got 9. The datapoint is "
            "damaged.");
  EXPECT_EQ(error(with(9, 9)),
            "[decode] expected a rank of at most 8 for component 0 in a test, got 9. The datapoint is "
            "damaged.");
  EXPECT_EQ(
      error(with(17, '\x80')),
      "[decode] expected dimensions of 0 or more for component 0 in a test, got -9223372036854775806. The datapoint "
      "is damaged.");
  EXPECT_EQ(error(with(16, 1)),
            "[decode] expected 281474976710658 byte(s) of elements in a test, got 2. The datapoint is "
            "cut off or damaged.");
  EXPECT_EQ(error(with(8, 5)),
            "[decode] expected 0 and 1 in component 0, a bool, in a test, got 2. The datapoint is "
            "damaged.");
  EXPECT_EQ(error(good + "x"),
            "[decode] expected nothing after the 1 component(s) in a test, got 1 byte(s). The "
            "datapoint is damaged.");
  std::string overflow = encode({Array(f32, {0, 1})});
  overflow[17] = overflow[25] = 0x7f;
  EXPECT_TRUE(contains(error(overflow), "expected a shape that fits memory for component 0 in a test"));
}

}  // namespace
}  // namespace belfry
