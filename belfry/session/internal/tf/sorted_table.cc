#include "belfry/session/internal/tf/sorted_table.h"

#include <cstdint>
#include <optional>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/internal/masked_crc32c.h"
#include "belfry/base/internal/protobuf_wire.h"
#include "belfry/session/internal/tf/snappy.h"

namespace belfry {
namespace {

constexpr std::size_t kFooterBytes = 48, kHandlesBytes = 40;
constexpr std::uint64_t kMagic = 0xdb4775248b80fb57;
constexpr std::size_t kTrailerBytes = 5;  // behind each block: how it is packed, and the checksum
constexpr std::byte kPlain{0}, kSnappy{1};
// Keys are written whole at least every 16 entries, so all of them together cannot be longer than this many times what
// is in the file. Without a limit, a small file could spell out an endless number of long keys.
constexpr std::uint64_t kMostShared = 16;

struct Handle {
  std::uint64_t offset = 0, size = 0;
};

using Visit = FunctionRef<void(std::string_view, std::string_view)>;

std::string_view text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Table {
 public:
  Table(std::span<const std::byte> file, const std::string& path) : file_(file), path_(path) {
    BELFRY_CHECK_AS(FileError, is_sorted_table(file),
                    "[tf_checkpoint] '{}': expected the end of an index, got {} bytes without it. The file is cut "
                    "short, or not an index that TensorFlow wrote.",
                    path, file.size());
  }

  void read(Visit each) {
    const std::string where = fmt::format("the footer of '{}'", path_);
    std::string_view footer = text_in(file_.last(kFooterBytes).first(kHandlesBytes));
    const Handle about_blocks = take_handle(footer, where), index = take_handle(footer, where);
    BELFRY_CHECK_AS(FileError, has_footer(about_blocks, index),
                    "[tf_checkpoint] '{}': expected a footer of two places and zeros, got something else. The file is "
                    "damaged.",
                    path_);
    block(about_blocks);  // holds nothing that is needed, but may be damaged
    std::uint64_t end = 0, key_bytes = 0;
    std::string last;
    bool first = true;
    entries_of(block(index), [&](std::string_view, std::string_view value) {
      const Handle handle = take_handle(value, fmt::format("the index block of '{}'", path_));
      BELFRY_CHECK_AS(FileError, handle.offset >= end,
                      "[tf_checkpoint] '{}': expected the next block at {} or later, got {}. The file is damaged.",
                      path_, end, handle.offset);
      entries_of(block(handle), [&](std::string_view key, std::string_view content) {
        BELFRY_CHECK_AS(FileError, first || key > last,
                        "[tf_checkpoint] '{}': expected keys in alphabetical order, got one that is not behind the one "
                        "before. The file is damaged.",
                        path_);
        key_bytes += key.size();
        BELFRY_CHECK_AS(FileError, key_bytes <= kMostShared * file_.size() + kMostShared * unpacked_,
                        "[tf_checkpoint] '{}': expected names of at most {} bytes together, got more. The file is "
                        "damaged.",
                        path_, kMostShared * file_.size() + kMostShared * unpacked_);
        first = false;
        last.assign(key);
        each(key, content);
      });
      end = handle.offset + handle.size + kTrailerBytes;
    });
  }

 private:
  static Handle take_handle(std::string_view& from, std::string_view where) {
    const std::uint64_t offset = take_varint(from, where);
    return {offset, take_varint(from, where)};
  }

  // There is more than one way to write a number; the footer has no checksum, so that any but the usual one is damage.
  bool has_footer(const Handle& about_blocks, const Handle& index) const {
    std::string expected;
    for (const Handle& handle : {about_blocks, index}) {
      add_varint(expected, handle.offset);
      add_varint(expected, handle.size);
    }
    expected.resize(kHandlesBytes);
    return expected == text_in(file_.last(kFooterBytes).first(kHandlesBytes));
  }

  // A part of the file, and what came of it if it is packed.
  struct Block {
    std::string_view bytes;
    std::optional<std::string> unpacked{};

    std::string_view content() const { return unpacked ? std::string_view(*unpacked) : bytes; }
  };

  Block block(const Handle& handle) {
    const std::uint64_t blocks = file_.size() - kFooterBytes;
    BELFRY_CHECK_AS(FileError,
                    handle.offset <= blocks && kTrailerBytes <= blocks - handle.offset &&
                        handle.size <= blocks - handle.offset - kTrailerBytes,
                    "[tf_checkpoint] '{}': expected a block within the first {} bytes, got one of {} bytes at {}. The "
                    "file is damaged.",
                    path_, blocks, handle.size, handle.offset);
    const auto bytes = file_.subspan(handle.offset, handle.size + 1);
    const auto stored = load_little_endian<std::uint32_t>(bytes.data() + bytes.size());
    BELFRY_CHECK_AS(FileError, stored == masked_crc32c(bytes),
                    "[tf_checkpoint] '{}': expected the block of {} bytes at {} to match its checksum, got others. The "
                    "file is damaged.",
                    path_, handle.size, handle.offset);
    const std::byte packing = bytes.back();
    BELFRY_CHECK_AS(FileError, packing == kPlain || packing == kSnappy,
                    "[tf_checkpoint] '{}': expected a block that is plain or packed with snappy, got packing {} at {}. "
                    "Belfry has no reader for it.",
                    path_, static_cast<int>(packing), handle.offset);
    Block out{text_in(bytes.first(handle.size))};
    if (packing == kSnappy) {
      out.unpacked = unpack_snappy(out.bytes, fmt::format("the block at {} of '{}'", handle.offset, path_));
      unpacked_ += out.unpacked->size();
    }
    return out;
  }

  // The bytes of the entries alone.
  std::string_view without_restarts(std::string_view content) const {
    constexpr std::size_t kNumber = sizeof(std::uint32_t);
    const auto number_at = [&](std::size_t at) {
      return load_little_endian<std::uint32_t>(reinterpret_cast<const std::byte*>(content.data()) + at);
    };
    const std::uint64_t restarts = content.size() < kNumber ? 0 : number_at(content.size() - kNumber);
    BELFRY_CHECK_AS(FileError, content.size() >= kNumber && restarts <= content.size() / kNumber - 1,
                    "[tf_checkpoint] '{}': expected a block that ends with a list of places in it, got {} bytes and a "
                    "list of {}. The file is damaged.",
                    path_, content.size(), restarts);
    return content.substr(0, content.size() - (restarts + 1) * kNumber);
  }

  void entries_of(const Block& block, Visit each) const {
    const std::string where = fmt::format("an entry of '{}'", path_);
    std::string_view left = without_restarts(block.content());
    std::string key;
    while (!left.empty()) {
      const std::uint64_t shared = take_varint(left, where), fresh = take_varint(left, where),
                          value = take_varint(left, where);
      BELFRY_CHECK_AS(FileError, shared <= key.size() && fresh <= left.size() && value <= left.size() - fresh,
                      "[tf_checkpoint] '{}': expected an entry within the {} bytes that its block has left, got {} "
                      "bytes of a key that shares {} of {}, and {} of a value. The file is damaged.",
                      path_, left.size(), fresh, shared, key.size(), value);
      key.resize(shared);
      key.append(left.substr(0, fresh));
      each(key, left.substr(fresh, value));
      left.remove_prefix(fresh + value);
    }
  }

  std::span<const std::byte> file_;
  const std::string& path_;
  std::uint64_t unpacked_ = 0;  // bytes that came of packed blocks
};

}  // namespace

bool is_sorted_table(std::span<const std::byte> file) {
  return file.size() >= kFooterBytes && load_little_endian<std::uint64_t>(&*file.last(sizeof kMagic).begin()) == kMagic;
}

void read_sorted_table(std::span<const std::byte> file, const std::string& path, Visit each) {
  Table(file, path).read(each);
}

}  // namespace belfry
