#include <algorithm>
#include <set>
#include <utility>

#include "belfry/array/internal/stored_array.h"
#include "belfry/array/internal/zip.h"
#include "belfry/array/internal/zip_format.h"
#include "belfry/base/check.h"

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
std::uint64_t u64(std::span<const std::byte> from, std::size_t at) {
  return load_little_endian<std::uint64_t>(from.data() + at);
}
std::string_view text(std::span<const std::byte> from) {
  return {reinterpret_cast<const char*>(from.data()), from.size()};
}

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> file, const std::string& path) : file_(file), path_(path) {}

  std::vector<ZipEntry> read() {
    const Directory found = find_directory();
    check(found.offset <= found.end && found.bytes == found.end - found.offset,
          "the directory right before the archive's end", fmt::format("{} bytes at {}", found.bytes, found.offset));
    data_end_ = found.offset;
    std::span<const std::byte> directory = file_.subspan(found.offset, found.bytes);
    check(found.count <= found.bytes / zip::kEntryBytes, fmt::format("{} entries", found.count),
          "a directory that is too short");
    std::vector<ZipEntry> entries;
    for (std::size_t i = 0; i < found.count; ++i) entries.push_back(take_entry(directory));
    check(directory.empty(), fmt::format("{} entries", found.count), "a directory that is too long");
    check_extents();
    return entries;
  }

 private:
  struct Directory {
    std::uint64_t count = 0, bytes = 0, offset = 0;  // as the archive claims
    std::size_t end = 0;                             // where the record begins that claims it
  };

  // The record is at the very end but for a comment of up to 65,535 bytes, whose length it tells.
  std::size_t find_end() const {
    for (std::size_t comment = 0; comment <= 0xffff && comment + zip::kEndBytes <= file_.size(); ++comment) {
      const std::size_t at = file_.size() - zip::kEndBytes - comment;
      if (u32(file_, at) == zip::kEndSignature && u16(file_, at + 20) == comment) return at;
    }
    refuse("the directory of a zip archive at the file's end", "none. The file may be cut short, or no .npz file");
  }

  Directory find_directory() const {
    const std::size_t end = find_end();
    const auto record = file_.subspan(end, zip::kEndBytes);
    const Directory small{.count = u16(record, 10), .bytes = u32(record, 12), .offset = u32(record, 16), .end = end};
    const bool one_part = u16(record, 4) == 0 && u16(record, 6) == 0 && u16(record, 8) == small.count;
    check(one_part, "an archive in one part", "one of several");
    if (end >= zip::kLocatorBytes && u32(file_, end - zip::kLocatorBytes) == zip::kLocatorSignature)
      return find_directory64(small, end - zip::kLocatorBytes);
    check(small.count != zip::kIsZip64Count && small.bytes != zip::kIsZip64 && small.offset != zip::kIsZip64,
          "a zip64 directory for an archive that is too large for another", "none");
    return small;
  }

  // Numbers that fit the old record must be the same in both, or two readers would see two archives.
  Directory find_directory64(const Directory& small, std::size_t locator) const {
    const std::uint64_t at = u64(file_, locator + 8);
    check(at <= locator && locator - at >= zip::kEnd64Bytes, "a zip64 directory's end before its locator",
          fmt::format("position {}", at));
    const auto record = file_.subspan(at, locator - at);
    check(u32(record, 0) == zip::kEnd64Signature && u64(record, 4) == record.size() - 12,
          "the end of a zip64 directory", "other bytes");
    const Directory large{.count = u64(record, 32), .bytes = u64(record, 40), .offset = u64(record, 48), .end = at};
    check(u32(record, 16) == 0 && u32(record, 20) == 0 && u64(record, 24) == large.count, "an archive in one part",
          "one of several");
    check((small.count == zip::kIsZip64Count || small.count == large.count) &&
              (small.bytes == zip::kIsZip64 || small.bytes == large.bytes) &&
              (small.offset == zip::kIsZip64 || small.offset == large.offset),
          "the same numbers in both ends of the directory", "different ones");
    return large;
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
    const Place place = place_of(entry.name, record, record.subspan(zip::kEntryBytes + name_bytes, u16(record, 30)));
    check(names_.insert(entry.name).second, "every name once", fmt::format("{} twice", in_quotes(entry.name)));
    check_entry((u16(record, 8) & zip::kEncrypted) == 0, entry.name, "plain data", "encrypted");
    check_entry(method == zip::kStored || method == zip::kDeflated, entry.name, "stored or deflated data",
                fmt::format("compression method {}", method));
    entry.deflated = method == zip::kDeflated;
    entry.crc = u32(record, 16);
    entry.size = place.size;
    entry.data = data_of(entry.name, place.local_at, place.compressed);
    check_entry(entry.deflated ? place.size <= place.compressed * kMaxExpansion : place.size == place.compressed,
                entry.name, "a size that its data can have",
                fmt::format("{} from {} bytes", place.size, place.compressed));
    return entry;
  }

  struct Place {
    std::uint64_t size = 0, compressed = 0, local_at = 0;
  };

  Place place_of(const std::string& name, std::span<const std::byte> record, std::span<const std::byte> extra) const {
    Place place{.size = u32(record, 24), .compressed = u32(record, 20), .local_at = u32(record, 42)};
    std::span<const std::byte> large = zip64_extra(name, extra);
    for (std::uint64_t* number : {&place.size, &place.compressed, &place.local_at}) {
      if (*number != zip::kIsZip64) continue;
      check_entry(large.size() >= sizeof *number, name, "its zip64 sizes in an extra field", "too few of them");
      *number = u64(large, 0);
      large = large.subspan(sizeof *number);
    }
    return place;
  }

  // The content of the zip64 extra field; empty if there is none.
  std::span<const std::byte> zip64_extra(const std::string& name, std::span<const std::byte> extra) const {
    while (extra.size() >= zip::kExtraBytes) {
      const std::size_t kind = u16(extra, 0), bytes = u16(extra, 2);
      extra = extra.subspan(zip::kExtraBytes);
      check_entry(bytes <= extra.size(), name, "extra fields that fit their record", "a longer one");
      if (kind == zip::kZip64Extra) return extra.first(bytes);
      extra = extra.subspan(bytes);
    }
    return {};
  }

  // The local header repeats the directory; it matters for the lengths in front of the data.
  std::span<const std::byte> data_of(const std::string& name, std::uint64_t local_at, std::uint64_t bytes) {
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
  std::size_t data_end_ = 0;  // where the directory begins
  std::set<std::string> names_;
  std::vector<std::pair<std::size_t, std::size_t>> extents_;
};

}  // namespace

std::vector<ZipEntry> zip_entries(std::span<const std::byte> file, const std::string& path) {
  return ZipReader(file, path).read();
}

}  // namespace belfry
