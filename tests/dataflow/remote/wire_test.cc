#include "belfry/dataflow/remote/internal/wire.h"

#include <string>

#include "tests/dataflow/flow_testing.h"
#include "tests/support/mutations.h"

namespace belfry {
namespace {

std::string message(const WireHeader& header, const std::string& payload = "") {
  std::string out(kWireHeaderBytes, '\0');
  write_wire_header(header, std::as_writable_bytes(std::span(out)));
  return out + payload;
}
WireMessage parse(const std::string& bytes) { return parse_wire_message(std::as_bytes(std::span(bytes)), "a test"); }
std::string error(const std::string& bytes) {
  return error_of<FileError>([&] { parse(bytes); });
}

TEST(Wire, ReadsWhatItWrites) {
  const std::string bytes = message({WireKind::error, 1, 2, ~std::uint64_t{0}}, "oh");
  const WireMessage read = parse(bytes);
  EXPECT_EQ(read.header.kind, WireKind::error);
  EXPECT_EQ(read.header.sender, 1u);
  EXPECT_EQ(read.header.pass, 2u);
  EXPECT_EQ(read.header.index, ~std::uint64_t{0});
  EXPECT_EQ(read.payload.size(), 2u);
}

TEST(Wire, SaysWhatIsWrong) {
  EXPECT_EQ(error("hello"),
            "[from_remote] expected a message of at least 32 bytes in a test, got 5. Is the peer a "
            "send_points()?");
  EXPECT_EQ(error(std::string(40, 'x')),
            "[from_remote] expected a message that begins with 'BPM1' in a test, got "
            "another. Is the peer a send_points() of this version?");
  std::string bytes = message({});
  bytes[4] = 6;
  EXPECT_EQ(error(bytes), "[from_remote] expected a message of kind 1 to 5 in a test, got 6. The message is damaged.");
  EXPECT_EQ(error(message({WireKind::end}, "x")),
            "[from_remote] expected at most 0 bytes after the header of a message of kind 3 in a test, got 1. The "
            "message is damaged.");
  EXPECT_EQ(error(message({WireKind::error}, std::string(kMaxWireText, 'x'))), "no error");
  EXPECT_TRUE(contains(error(message({WireKind::error}, std::string(kMaxWireText + 1, 'x'))), "expected at most 4096"));
}

TEST(Wire, DamagedMessagesAreRefusedOrRead) {
  const std::string good = message({WireKind::end_of_pass, 1, 2, 3});
  testing_support::Mutator mutate(6);
  const auto survived =
      testing_support::survive(3000, [&] { return mutate(good); }, [](const std::string& bytes) { parse(bytes); });
  EXPECT_GT(survived.refused, 1000);
  EXPECT_GT(survived.read, 100);
}

}  // namespace
}  // namespace belfry
