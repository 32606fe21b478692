#include "belfry/array/internal/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"

namespace belfry {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::array<std::string_view, 6> kDescriptions{"<f4", "<f8", "<i4", "<i8", "|u1", "|b1"};  // order of DType
struct ForeignDescription {
  std::string_view text;
  ForeignType type;
};
constexpr std::array<ForeignDescription, 6> kForeignDescriptions{{{"<f2", ForeignType::f16},
                                                                  {"|i1", ForeignType::i8},
                                                                  {"<i2", ForeignType::i16},
                                                                  {"<u2", ForeignType::u16},
                                                                  {"<u4", ForeignType::u32},
                                                                  {"<u8", ForeignType::u64}}};

// The little of Python's grammar that numpy writes: {'key': value, ...} with strings, True, False, tuples of integers.
class DictReader {
 public:
  DictReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader read() {
    NpyHeader out;
    bool seen_descr = false, seen_order = false, seen_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string("a key in quotes");
      expect(':');
      if (key == "descr" && !seen_descr) {
        read_dtype(out);
        seen_descr = true;
      } else if (key == "fortran_order" && !seen_order) {
        out.fortran_order = boolean();
        seen_order = true;
      } else if (key == "shape" && !seen_shape) {
        out.shape = shape();
        seen_shape = true;
      } else {
        refuse("descr, fortran_order and shape once each", in_quotes(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!text_.empty()) refuse("nothing after the header's dict", in_quotes(text_));
    if (!(seen_descr && seen_order && seen_shape)) refuse("descr, fortran_order and shape", "only some of them");
    return out;
  }

 private:
  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }

  bool accept(char c) {
    skip_blanks();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) refuse(fmt::format("'{}' in the header", c), rest());
  }

  std::string_view string(std::string_view expected, std::string_view remedy = "") {
    skip_blanks();
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) refuse(expected, rest(), remedy);
    const std::string_view out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return out;
  }

  void read_dtype(NpyHeader& out) {
    const std::string_view name = string("a plain dtype in quotes", " Structured dtypes are not supported.");
    const auto same = [&](std::string_view ours) {
      out.big_endian = ours.starts_with('<') && name.starts_with('>') && name.substr(1) == ours.substr(1);
      return out.big_endian || name == ours;
    };
    if (const auto found = std::ranges::find_if(kDescriptions, same); found != kDescriptions.end()) {
      out.dtype = static_cast<DType>(found - kDescriptions.begin());
      return;
    }
    const auto found = std::ranges::find_if(kForeignDescriptions, same, &ForeignDescription::text);
    if (found == kForeignDescriptions.end())
      refuse("a dtype of f2, f4, f8, i1 to i8, u1 to u8 or b1", in_quotes(name),
             " Convert it with astype() before saving.");
    out.foreign = found->type;
    out.dtype = read_as(found->type);
  }

  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    refuse("True or False for fortran_order", rest());
  }

  Shape shape() {
    Shape out;
    expect('(');
    while (!accept(')')) {
      std::int64_t dim = 0;
      skip_blanks();
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), dim);
      if (error != std::errc()) refuse("a whole number below 2^63 as a dimension", rest());
      if (dim < 0) refuse("dimensions of 0 or more", std::to_string(dim));
      if (out.rank() == kMaxRank) refuse(fmt::format("at most {} dimensions", kMaxRank), "more");
      out.push_back(dim);
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (text_.starts_with('L')) text_.remove_prefix(1);  // Python 2 wrote long integers this way
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  std::string rest() const { return text_.empty() ? "its end" : in_quotes(text_.substr(0, 20)); }

  [[noreturn]] void refuse(std::string_view expected, std::string_view got, std::string_view remedy = "") const {
    fail<FileError>("{}: expected {}, got {}.{}", where_, expected, got, remedy);
  }

  std::string_view text_;  // what is still to be read
  const std::string& where_;
};

}  // namespace

std::string format_npy_header(DType dtype, const Shape& shape) {
  std::string dims;
  for (const std::int64_t dim : shape) dims += fmt::format("{}, ", dim);
  if (shape.rank() > 1) dims.resize(dims.size() - 2);   // (2, 3)
  if (shape.rank() == 1) dims.resize(dims.size() - 1);  // (2,)
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 kDescriptions[static_cast<std::size_t>(dtype)], dims);
  constexpr std::size_t kFront = kMagic.size() + 4;
  dict.append(63 - (kFront + dict.size()) % 64, ' ');
  dict += '\n';

  std::string out(kMagic);
  out.append("\x01\x00", 2);
  append_little_endian(out, static_cast<std::uint16_t>(dict.size()));
  return out + dict;
}

NpyExtent npy_extent(std::span<const std::byte, kNpyPrefix> prefix, const std::string& where) {
  BELFRY_CHECK_AS(FileError, std::memcmp(prefix.data(), kMagic.data(), kMagic.size()) == 0,
                  "{}: expected the first bytes of a .npy file, got others.", where);
  const int major = std::to_integer<int>(prefix[6]), minor = std::to_integer<int>(prefix[7]);
  BELFRY_CHECK_AS(FileError, major >= 1 && major <= 3 && minor == 0, "{}: expected .npy version 1.0 to 3.0, got {}.{}.",
                  where, major, minor);
  const std::size_t length = major == 1 ? load_little_endian<std::uint16_t>(prefix.data() + 8)
                                        : load_little_endian<std::uint32_t>(prefix.data() + 8);
  BELFRY_CHECK_AS(FileError, length <= kMaxNpyHeader, "{}: expected a .npy header of at most {} bytes, got {}.", where,
                  kMaxNpyHeader, length);
  const std::size_t dict_begin = major == 1 ? 10 : 12;
  return {.dict_begin = dict_begin, .data_begin = dict_begin + length};
}

NpyHeader parse_npy_dict(std::string_view dict, const std::string& where) { return DictReader(dict, where).read(); }

}  // namespace belfry
