// The records of a zip file, as far as zip_reader.cc and zip_writer.cc share them. All numbers are little-endian.
//
//   local header        u32 signature, u16 version, flags, method, time, date, u32 crc, compressed, size,
//                       u16 name length, extra length; name, extra, data
//   directory entry     u32 signature, u16 made by, version, flags, method, time, date, u32 crc, compressed, size,
//                       u16 name length, extra length, comment length, disk, internal, u32 external, local header's
//                       offset; name, extra, comment
//   end of directory    u32 signature, u16 disk, directory's disk, entries here, entries, u32 directory's size,
//                       directory's offset, u16 comment length; comment
//
// Where a size, an offset or a count does not fit (zip64), its field is all ones. An entry's then follow in an extra
// field, those alone that do not fit; the archive's in a record of their own, which the locator right before the end of
// the directory points to.
//
//   extra field         u16 kind 1, bytes; u64 size, compressed, local header's offset
//   zip64 end           u32 signature, u64 bytes that follow, u16 made by, version, u32 disk, directory's disk,
//                       u64 entries here, entries, directory's size, directory's offset
//   locator             u32 signature, disk, u64 the zip64 end's offset, u32 disks
#pragma once

#include <cstddef>
#include <cstdint>

namespace belfry::zip {

inline constexpr std::uint32_t kLocalSignature = 0x04034b50;
inline constexpr std::uint32_t kEntrySignature = 0x02014b50;
inline constexpr std::uint32_t kEndSignature = 0x06054b50;
inline constexpr std::uint32_t kEnd64Signature = 0x06064b50;
inline constexpr std::uint32_t kLocatorSignature = 0x07064b50;
inline constexpr std::size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
inline constexpr std::size_t kExtraBytes = 4;  // in front of each extra field: kind and length

inline constexpr std::uint16_t kStored = 0, kDeflated = 8;
inline constexpr std::uint16_t kEncrypted = 1, kUtf8 = 1 << 11;  // flags

inline constexpr std::uint32_t kIsZip64 = 0xffffffff;  // in place of a size or an offset
inline constexpr std::uint16_t kIsZip64Count = 0xffff;
inline constexpr std::uint16_t kZip64Extra = 1;

}  // namespace belfry::zip
