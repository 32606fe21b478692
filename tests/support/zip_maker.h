// Zip archives and .npy files made byte by byte, to be right or wrong in any one field.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::testing_support {

template <class T>
std::string le(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string npy(const std::string& dict, const std::string& data, int version = 1) {
  const std::string length =
      version == 1 ? le(static_cast<std::uint16_t>(dict.size())) : le(static_cast<std::uint32_t>(dict.size()));
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + length + dict + data;
}

inline std::string npy_dict(std::string_view descr, std::string_view shape, std::string_view order = "False") {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }\n";
}

inline std::string deflated(const std::string& content) {
  z_stream z{};
  deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, content.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

struct ZipPart {
  std::string name;
  std::string content = {};  // uncompressed
  std::uint16_t method = 0;  // 8: deflated
  std::uint16_t flags = 0;
  // Lies, where the truth is not wanted.
  std::optional<std::uint32_t> size = {}, crc = {}, local_at = {}, compressed = {};
  std::optional<std::string> local_name = {}, stored = {};
};

inline std::string zip_of(const std::vector<ZipPart>& parts, const std::string& comment = "",
                          std::optional<std::uint16_t> count = {}) {
  std::string file, directory;
  for (const ZipPart& p : parts) {
    const std::string data = p.stored ? *p.stored : p.method == 8 ? deflated(p.content) : p.content;
    const auto crc = static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(p.content.data()), static_cast<uInt>(p.content.size())));
    const std::string common = le<std::uint16_t>(20) + le(p.flags) + le(p.method) + le<std::uint32_t>(0) +
                               le(p.crc.value_or(crc)) +
                               le(p.compressed.value_or(static_cast<std::uint32_t>(data.size()))) +
                               le(p.size.value_or(static_cast<std::uint32_t>(p.content.size())));
    const std::string local_name = p.local_name.value_or(p.name);
    directory += le<std::uint32_t>(0x02014b50) + le<std::uint16_t>(20) + common +
                 le(static_cast<std::uint16_t>(p.name.size())) + std::string(12, '\0') +
                 le(p.local_at.value_or(static_cast<std::uint32_t>(file.size()))) + p.name;
    file += le<std::uint32_t>(0x04034b50) + common + le(static_cast<std::uint16_t>(local_name.size())) +
            std::string(2, '\0') + local_name + data;
  }
  const std::uint16_t n = count.value_or(static_cast<std::uint16_t>(parts.size()));
  return file + directory + le<std::uint32_t>(0x06054b50) + std::string(4, '\0') + le(n) + le(n) +
         le(static_cast<std::uint32_t>(directory.size())) + le(static_cast<std::uint32_t>(file.size())) +
         le(static_cast<std::uint16_t>(comment.size())) + comment;
}

}  // namespace belfry::testing_support
