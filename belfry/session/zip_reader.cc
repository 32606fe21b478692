#include <algorithm>
#include <set>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/session/stored_array.h"
#include "belfry/session/zip.h"
#include "belfry/session/zip_format.h"

namespace belfry {
namespace {

// A deflated length and distance take at least one bit each and stand for at most 258 bytes.
constexpr std::uint64_t kMaxExpansion = 258 * 8 / 2;

std::uint16_t u16(std::span<const std::byte> from, std::size_t at) {
  return load_little_endian<std::uint16_t>(from.data() + at);
}
std::uint32_t u32(std::span<const std::byte> from, std::size_t at) {
  return load_little_endian<std::uint32_t>(from.data() + at);
}
std::string_view text(std::span<const std::byte> from) {
  return {reinterpret_cast<const char*>(from.data()), from.size()};
}

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> file, const std::string& path) : file_(file), path_(path) {}

  std::vector<ZipEntry> read() {
    find_end();
    const std::size_t count = u16(end_, 10), bytes = u32(end_, 12), offset = u32(end_, 16);
    check(count != zip::kIsZip64Count && u32(end_, 12) != zip::kIsZip64 && u32(end_, 16) != zip::kIsZip64,
          "an archive below 4 GiB", "a zip64 one. Use safetensors for more");
    check(u16(end_, 4) == 0 && u16(end_, 6) == 0 && u16(end_, 8) == count, "an archive in one part", "one of several");
    check(offset <= end_at_ && bytes == end_at_ - offset, "the directory right before the archive's end",
          fmt::format("{} bytes at {}", bytes, offset));
    data_end_ = offset;
    std::span<const std::byte> directory = file_.subspan(offset, bytes);
    check(count <= bytes / zip::kEntryBytes, fmt::format("{} entries", count), "a directory that is too short");
    std::vector<ZipEntry> entries;
    for (std::size_t i = 0; i < count; ++i) entries.push_back(take_entry(directory));
    check(directory.empty(), fmt::format("{} entries", count), "a directory that is too long");
    check_extents();
    return entries;
  }

 private:
  // The record is at the very end but for a comment of up to 65,535 bytes, whose length it tells.
  void find_end() {
    for (std::size_t comment = 0; comment <= 0xffff && comment + zip::kEndBytes <= file_.size(); ++comment) {
      end_at_ = file_.size() - zip::kEndBytes - comment;
      end_ = file_.subspan(end_at_, zip::kEndBytes);
      if (u32(end_, 0) == zip::kEndSignature && u16(end_, 20) == comment) return;
    }
    refuse("the directory of a zip archive at the file's end", "none. The file may be cut short, or no .npz file");
  }

  ZipEntry take_entry(std::span<const std::byte>& directory) {
    check(directory.size() >= zip::kEntryBytes && u32(directory, 0) == zip::kEntrySignature, "a directory entry",
          "other bytes");
    const std::size_t name_bytes = u16(directory, 28);
    const std::size_t bytes = zip::kEntryBytes + name_bytes + u16(directory, 30) + u16(directory, 32);
    check(directory.size() >= bytes, "a directory entry", "only the beginning of one");
    const std::span<const std::byte> record = std::exchange(directory, directory.subspan(bytes)).first(bytes);

    ZipEntry entry;
    entry.name = text(record.subspan(zip::kEntryBytes, name_bytes));
    const std::uint16_t method = u16(record, 10);
    const std::uint32_t compressed = u32(record, 20), size = u32(record, 24), local_at = u32(record, 42);
    check(names_.insert(entry.name).second, "every name once", fmt::format("{} twice", in_quotes(entry.name)));
    check_entry((u16(record, 8) & zip::kEncrypted) == 0, entry.name, "plain data", "encrypted");
    check_entry(method == zip::kStored || method == zip::kDeflated, entry.name, "stored or deflated data",
                fmt::format("compression method {}", method));
    check_entry(compressed != zip::kIsZip64 && size != zip::kIsZip64 && local_at != zip::kIsZip64, entry.name,
                "less than 4 GiB", "a zip64 entry. Use safetensors for more");
    entry.deflated = method == zip::kDeflated;
    entry.crc = u32(record, 16);
    entry.size = size;
    entry.data = data_of(entry.name, local_at, compressed);
    check_entry(entry.deflated ? size <= compressed * kMaxExpansion : size == compressed, entry.name,
                "a size that its data can have", fmt::format("{} from {} bytes", size, compressed));
    return entry;
  }

  // The local header repeats the directory; it matters for the lengths in front of the data.
  std::span<const std::byte> data_of(const std::string& name, std::size_t local_at, std::size_t bytes) {
    check_entry(local_at <= data_end_ && data_end_ - local_at >= zip::kLocalBytes, name,
                "a position inside the archive", std::to_string(local_at));
    const std::span<const std::byte> local = file_.subspan(local_at, data_end_ - local_at);
    check_entry(u32(local, 0) == zip::kLocalSignature, name, "a header in front of its data", "other bytes");
    const std::size_t name_bytes = u16(local, 26), front = zip::kLocalBytes + name_bytes + u16(local, 28);
    check_entry(local.size() >= front && local.size() - front >= bytes, name, "data inside the archive",
                fmt::format("{} bytes at {}", bytes, local_at));
    check_entry(text(local.subspan(zip::kLocalBytes, name_bytes)) == name, name, "the same name in front of its data",
                "another");
    extents_.emplace_back(local_at, local_at + front + bytes);
    return local.subspan(front, bytes);
  }

  // Entries that share data would let a small file ask for any amount of memory.
  void check_extents() {
    std::ranges::sort(extents_);
    for (std::size_t i = 1; i < extents_.size(); ++i)
      check(extents_[i - 1].second <= extents_[i].first, "entries one after the other",
            fmt::format("two that overlap at {}", extents_[i].first));
  }

  void check(bool condition, std::string_view expected, std::string_view got) const {
    if (!condition) refuse(expected, got);
  }

  void check_entry(bool condition, const std::string& name, std::string_view expected, std::string_view got) const {
    BELFRY_CHECK_AS(FileError, condition, "[npz] '{}': entry {}: expected {}, got {}.", path_, in_quotes(name),
                    expected, got);
  }

  [[noreturn]] void refuse(std::string_view expected, std::string_view got) const {
    fail<FileError>("[npz] '{}': expected {}, got {}.", path_, expected, got);
  }

  std::span<const std::byte> file_;
  const std::string& path_;
  std::span<const std::byte> end_;  // the end record, at end_at_
  std::size_t end_at_ = 0;
  std::size_t data_end_ = 0;  // where the directory begins
  std::set<std::string> names_;
  std::vector<std::pair<std::size_t, std::size_t>> extents_;
};

}  // namespace

std::vector<ZipEntry> zip_entries(std::span<const std::byte> file, const std::string& path) {
  return ZipReader(file, path).read();
}

}  // namespace belfry
