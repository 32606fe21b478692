#include "belfry/dataflow/encoding.h"
#include "belfry/dataflow/remote/internal/wire.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return refused_or_read([&] {
    const auto bytes = std::as_bytes(std::span(data, size));
    const belfry::WireMessage message = belfry::parse_wire_message(bytes, "the fuzzer's bytes");
    require(message.payload.size() + belfry::kWireHeaderBytes == size);
    std::string again(belfry::kWireHeaderBytes, '\0');
    belfry::write_wire_header(message.header, std::as_writable_bytes(std::span(again)));
    require(again == text_of(data, belfry::kWireHeaderBytes));
    if (message.header.kind == belfry::WireKind::point) touch(belfry::decode(message.payload, "the fuzzer's bytes"));
  });
}
