#include "belfry/dataflow/sources/example.h"

#include <fmt/format.h>

#include <cstring>

#include "belfry/base/check.h"
#include "belfry/base/internal/protobuf_wire.h"
#include "belfry/base/internal/quotes.h"

// message Example   { Features features = 1; }
// message Features  { map<string, Feature> feature = 1; }     an entry is { string key = 1; Feature value = 2; }
// message Feature   { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
// message *List     { repeated bytes / float / int64 value = 1; }     numbers packed or one by one
namespace belfry {
namespace {

enum Kind : std::uint64_t { kNone = 0, kBytesList = 1, kFloatList = 2, kInt64List = 3 };

// One list as it lies in the message; it may come in several parts, which belong together.
struct Feature {
  Kind kind = kNone;
  std::vector<std::string_view> parts;
};
using Features = std::map<std::string_view, Feature>;

Feature read_feature(std::string_view bytes, std::string_view where) {
  Feature feature;
  for (WireReader fields(bytes, where); fields.next();)
    for (const Kind kind : {kBytesList, kFloatList, kInt64List}) {
      if (!fields.is(kind, WireReader::kBytes)) continue;
      if (feature.kind != kind) feature.parts.clear();  // one of them: the last one stands
      feature.kind = kind;
      feature.parts.push_back(fields.bytes());
    }
  return feature;
}

void read_entry(std::string_view bytes, std::string_view where, Features& features) {
  std::string_view key;
  Feature feature;
  for (WireReader fields(bytes, where); fields.next();) {
    if (fields.is(1, WireReader::kBytes)) key = fields.bytes();
    if (fields.is(2, WireReader::kBytes)) feature = read_feature(fields.bytes(), where);
  }
  features[key] = std::move(feature);  // of entries with one key the last one stands
}

Features read_features(std::string_view example, std::string_view where) {
  Features features;
  for (WireReader outer(example, where); outer.next();) {
    if (!outer.is(1, WireReader::kBytes)) continue;
    for (WireReader fields(outer.bytes(), where); fields.next();)
      if (fields.is(1, WireReader::kBytes)) read_entry(fields.bytes(), where, features);
  }
  return features;
}

// Of the value fields in all parts.
template <class Use>
void for_each_value(const Feature& feature, std::string_view where, Use&& use) {
  for (const std::string_view part : feature.parts)
    for (WireReader fields(part, where); fields.next();) use(fields);
}

Array bytes_array(const Feature& feature, std::string_view name, std::string_view where) {
  std::vector<std::string_view> values;
  for_each_value(feature, where, [&](const WireReader& field) {
    if (field.is(1, WireReader::kBytes)) values.push_back(field.bytes());
  });
  if (values.empty()) return Array(u8, {0});
  const std::size_t length = values[0].size();
  Shape shape{static_cast<std::int64_t>(length)};
  if (values.size() > 1) shape = {static_cast<std::int64_t>(values.size()), static_cast<std::int64_t>(length)};
  for (const std::string_view value : values)
    BELFRY_CHECK_AS(FileError, value.size() == length,
                    "[example] expected values of one length in feature {} in {}, got {} and {} bytes: they do not "
                    "form an array. Read the raw records and decode them in a map().",
                    in_quotes(name), where, length, value.size());
  Array out(u8, shape);
  auto* to = static_cast<char*>(out.raw());
  for (std::size_t i = 0; i < values.size() && length > 0; ++i) std::memcpy(to + i * length, values[i].data(), length);
  return out;
}

Array float_array(const Feature& feature, std::string_view name, std::string_view where) {
  std::string bytes;
  for_each_value(feature, where, [&](const WireReader& field) {
    if (field.is(1, WireReader::kBytes) || field.is(1, WireReader::kFixed32)) bytes += field.bytes();
    BELFRY_CHECK_AS(FileError, bytes.size() % sizeof(float) == 0,
                    "[example] expected whole numbers of 4 bytes in feature {} in {}, got {} bytes. It is damaged.",
                    in_quotes(name), where, bytes.size());
  });
  Array out(f32, {static_cast<std::int64_t>(bytes.size() / sizeof(float))});
  if (!bytes.empty()) std::memcpy(out.raw(), bytes.data(), bytes.size());
  return out;
}

Array int64_array(const Feature& feature, std::string_view where) {
  std::vector<std::int64_t> values;
  for_each_value(feature, where, [&](const WireReader& field) {
    if (field.is(1, WireReader::kVarint)) values.push_back(static_cast<std::int64_t>(field.number()));
    if (!field.is(1, WireReader::kBytes)) return;
    for (std::string_view packed = field.bytes(); !packed.empty();)
      values.push_back(static_cast<std::int64_t>(take_varint(packed, where)));
  });
  return Array::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Array to_array(const Feature& feature, std::string_view name, std::string_view where) {
  switch (feature.kind) {
    case kBytesList: return bytes_array(feature, name, where);
    case kFloatList: return float_array(feature, name, where);
    case kInt64List: return int64_array(feature, where);
    case kNone: break;
  }
  fail<FileError>("[example] expected bytes, float or int64 in feature {} in {}, got a feature without a list.",
                  in_quotes(name), where);
}

std::string names_in(const Features& features) {
  if (features.empty()) return "none at all";
  std::string out;
  int shown = 0;
  for (const auto& [name, feature] : features) {
    if (shown++ == 20) return out + ", ...";
    out += (out.empty() ? "" : ", ") + in_quotes(name);
  }
  return out;
}

// Field 1 of a list, as it is written: the packed numbers, or the bytes of the one value.
std::string list_of(const Array& array, Kind& kind, std::string_view name) {
  std::string values;
  if (array.dtype() == u8 || array.dtype() == f32) {
    kind = array.dtype() == u8 ? kBytesList : kFloatList;
    values.assign(static_cast<const char*>(array.raw()), array.bytes());
  } else {
    BELFRY_CHECK(array.dtype() == i64 || array.dtype() == i32 || array.dtype() == boolean,
                 "[example] expected u8, f32, i64, i32 or bool for feature {}, got {}, which an Example has no list "
                 "for. cast() it first.",
                 in_quotes(name), name_of(array.dtype()));
    kind = kInt64List;
    const Array wide = array.cast(i64);
    for (const std::int64_t value : wide.values<std::int64_t>()) add_varint(values, static_cast<std::uint64_t>(value));
  }
  std::string list;
  add_field(list, 1, values);
  return list;
}

}  // namespace

std::map<std::string, Array> decode_example(std::string_view bytes, std::string_view where) {
  std::map<std::string, Array> out;
  for (const auto& [name, feature] : read_features(bytes, where))
    out[std::string(name)] = to_array(feature, name, where);
  return out;
}

DataPoint decode_example(std::string_view bytes, std::span<const std::string> wanted, std::string_view where) {
  const Features features = read_features(bytes, where);
  DataPoint out;
  out.reserve(wanted.size());
  for (const std::string& name : wanted) {
    const auto found = features.find(name);
    BELFRY_CHECK_AS(FileError, found != features.end(), "[example] expected feature {} in {}, got {}.", in_quotes(name),
                    where, names_in(features));
    out.push_back(to_array(found->second, name, where));
  }
  return out;
}

std::string encode_example(const std::map<std::string, Array>& features) {
  std::string entries;
  for (const auto& [name, array] : features) {
    Kind kind = kNone;
    const std::string list = list_of(array, kind, name);
    std::string feature, entry;
    add_field(feature, kind, list);
    add_field(entry, 1, name);
    add_field(entry, 2, feature);
    add_field(entries, 1, entry);
  }
  std::string example;
  add_field(example, 1, entries);
  return example;
}

}  // namespace belfry
