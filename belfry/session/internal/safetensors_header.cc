#include "belfry/session/internal/safetensors_header.h"

#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"

namespace belfry {
namespace {

using nlohmann::json;

// In the order of DType.
constexpr std::array<std::string_view, 6> kDTypes{"F32", "F64", "I32", "I64", "U8", "BOOL"};

// In the order of ForeignType.
constexpr std::array<std::string_view, 9> kForeignTypes{"F16", "BF16", "F8_E4M3", "F8_E5M2", "I8",
                                                        "I16", "U16",  "U32",     "U64"};

bool set_type(SafetensorsEntry& entry, std::string_view name) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i] != name) continue;
    entry.dtype = static_cast<DType>(i);
    return true;
  }
  for (std::size_t i = 0; i < kForeignTypes.size(); ++i) {
    if (kForeignTypes[i] != name) continue;
    entry.foreign = static_cast<ForeignType>(i);
    entry.dtype = read_as(*entry.foreign);
    return true;
  }
  return false;
}

// Follows the header token by token and refuses the first one that is not allowed there. So duplicates are seen (a
// parsed document would hide them), and a header of any nesting costs no more memory than what it validly declares.
class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) return enter(Place::top);
    if (place_ != Place::top) refuse("an object");
    if (name_ == kSafetensorsMetadata) return enter(Place::metadata);
    seen_dtype_ = seen_shape_ = seen_offsets_ = false;
    return enter(Place::tensor);
  }

  bool key(std::string& key) override {
    if (place_ == Place::top) {
      const bool is_metadata = key == kSafetensorsMetadata;
      const bool is_new = is_metadata ? !std::exchange(seen_metadata_, true) : header_.tensors.try_emplace(key).second;
      if (!is_new) refuse_file("every name once", fmt::format("{} twice", in_quotes(key)));
      name_ = std::move(key);
      if (!is_metadata) tensor_ = &header_.tensors.at(name_);
    } else if (place_ == Place::metadata) {
      const auto [entry, is_new] = header_.metadata.try_emplace(key);
      if (!is_new) refuse_file("every name once", fmt::format("{} twice in __metadata__", in_quotes(key)));
      text_ = &entry->second;
    } else {
      open_field(key);
    }
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      *text_ = std::move(value);
    } else if (place_ == Place::tensor && field_ == Field::dtype) {
      if (!set_type(*tensor_, value))
        refuse_tensor(fmt::format("a dtype of {} or {}", fmt::join(kDTypes, ", "), fmt::join(kForeignTypes, ", ")),
                      in_quotes(value));
    } else {
      refuse("a string");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || field_ == Field::dtype) refuse("an array");
    offsets_ = 0;
    return enter(Place::numbers);
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::numbers) refuse("a number");
    if (field_ == Field::shape) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        refuse_tensor("dimensions below 2^63", std::to_string(value));
      if (tensor_->shape.rank() == kMaxRank) refuse_tensor(fmt::format("at most {} dimensions", kMaxRank), "more");
      tensor_->shape.push_back(static_cast<std::int64_t>(value));
    } else {
      if (offsets_ == 2) refuse_tensor("two data_offsets", "more");
      (offsets_++ == 0 ? tensor_->begin : tensor_->end) = value;
    }
    return true;
  }

  bool end_array() override {
    if (field_ == Field::offsets && offsets_ != 2) refuse_tensor("two data_offsets", std::to_string(offsets_));
    return enter(Place::tensor);
  }

  bool end_object() override {
    if (place_ == Place::top) return enter(Place::outside);
    if (place_ == Place::tensor && !(seen_dtype_ && seen_shape_ && seen_offsets_))
      refuse_tensor("dtype, shape and data_offsets", "only some of them");
    return enter(Place::top);
  }

  bool number_integer(std::int64_t value) override {
    if (place_ != Place::numbers) refuse("a number");
    refuse_tensor(field_ == Field::shape ? "dimensions of 0 or more" : "data_offsets of 0 or more",
                  std::to_string(value));
  }

  bool number_float(double, const std::string& text) override {
    if (place_ != Place::numbers) refuse("a number");
    refuse_tensor("whole numbers", in_quotes(text));
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a boolean"); }
  bool binary(json::binary_t&) override { refuse("binary"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    refuse_file("a header of well-formed JSON", fmt::format("an error at byte {} of it", position));
  }

 private:
  enum class Place : std::uint8_t { outside, top, metadata, tensor, numbers };
  enum class Field : std::uint8_t { dtype, shape, offsets };

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  void open_field(const std::string& key) {
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      refuse_tensor("dtype, shape and data_offsets", fmt::format("a field {}", in_quotes(key)));
    field_ = key == "dtype" ? Field::dtype : key == "shape" ? Field::shape : Field::offsets;
    bool& seen = field_ == Field::dtype ? seen_dtype_ : field_ == Field::shape ? seen_shape_ : seen_offsets_;
    if (std::exchange(seen, true)) refuse_tensor("every field once", fmt::format("{} twice", in_quotes(key)));
  }

  [[noreturn]] void refuse_file(std::string_view expected, std::string_view got) const {
    fail<FileError>("[safetensors] '{}': expected {}, got {}.", path_, expected, got);
  }

  [[noreturn]] void refuse_tensor(std::string_view expected, std::string_view got) const {
    fail<FileError>("[safetensors] '{}': tensor {}: expected {}, got {}.", path_, in_quotes(name_), expected, got);
  }

  // A value of a kind that is not allowed in this place.
  [[noreturn]] void refuse(std::string_view got) const {
    switch (place_) {
      case Place::outside: refuse_file("the header to be an object", got);
      case Place::top: refuse_file(fmt::format("an object for {}", in_quotes(name_)), got);
      case Place::metadata: refuse_file("__metadata__ to hold strings", got);
      case Place::numbers: refuse_tensor("whole numbers", got);
      case Place::tensor: break;
    }
    refuse_tensor(field_ == Field::dtype ? "a string for dtype" : "an array of whole numbers", got);
  }

  const std::string& path_;
  SafetensorsHeader header_;
  Place place_ = Place::outside;
  Field field_ = Field::dtype;
  std::string name_;                    // of the tensor being read
  SafetensorsEntry* tensor_ = nullptr;  // in header_
  std::string* text_ = nullptr;         // in header_, the metadata being read
  int offsets_ = 0;
  bool seen_metadata_ = false, seen_dtype_ = false, seen_shape_ = false, seen_offsets_ = false;
};

}  // namespace

std::string format_safetensors_header(const SafetensorsHeader& header, const std::string& path) {
  try {
    json out = json::object();
    if (!header.metadata.empty()) out[std::string(kSafetensorsMetadata)] = header.metadata;
    for (const auto& [name, entry] : header.tensors) {
      json& tensor = out[name];
      tensor["dtype"] = kDTypes[static_cast<std::size_t>(entry.dtype)];
      tensor["shape"] = std::vector<std::int64_t>(entry.shape.begin(), entry.shape.end());
      tensor["data_offsets"] = {entry.begin, entry.end};
    }
    return out.dump();
  } catch (const json::exception&) {
    fail<FileError>("[safetensors] '{}': expected names and metadata in UTF-8, got other bytes. Rename them.", path);
  }
}

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& path) {
  // The parser takes a NUL for the end of its input, and skips blanks and a byte order mark at the beginning.
  BELFRY_CHECK_AS(FileError, text.starts_with('{') && text.find('\0') == std::string_view::npos,
                  "[safetensors] '{}': expected a header of JSON text that starts with '{{', got something else. "
                  "Is this a safetensors file?",
                  path);
  HeaderReader reader(path);
  json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace belfry
