#include "belfry/array/npz.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "belfry/base/error.h"
#include "belfry/base/file.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"
#include "tests/support/zip_maker.h"

namespace belfry {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

Arrays read_bytes(const std::string& bytes) {
  TempDir dir;
  put_bytes(dir / "x", bytes);
  return read_npz(dir / "x");
}

// The error of reading these bytes, without the part that names the file.
std::string refusal_of(const std::string& bytes) {
  TempDir dir;
  put_bytes(dir / "x", bytes);
  const std::string text = file_error_of([&] { read_npz(dir / "x"); });
  const std::string front = "[npz] '" + dir / "x" + "': ";
  EXPECT_TRUE(text.starts_with(front)) << text;
  return text.substr(std::min(front.size(), text.size()));
}

std::string refusal_of_npy(const std::string& content) {
  const std::string front = "entry 'w.npy': ", text = refusal_of(zip_of({{.name = "w.npy", .content = content}}));
  EXPECT_TRUE(text.starts_with(front)) << text;
  return text.substr(std::min(front.size(), text.size()));
}

std::string floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

// numpy.savez_compressed(f, **{"conv0/W": asfortranarray(arange(6, dtype=float32).reshape(2, 3)),
//                              "flag": array([True, False])}), NumPy 1.24
constexpr std::string_view kFromNumpy =
    "504b030414000000080000002100ce2ce0d356000000980000000b001400636f6e76302f572e6e707901001000980000000000000056"
    "000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a120f292a4d05"
    "0a17672416a402b91a463a0ac69a3a0ab50ae4032e06307070606068b007620710878161810300504b030414000000080000002100ee"
    "19bb5d460000008200000008001400666c61672e6e707901001000820000000000000046000000000000009bec17ea1b10c9c850c650"
    "ad9e925a9c5ca46ea5a05e9364a8aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a9a3a0ab50a14"
    "002e460600504b0102140314000000080000002100ce2ce0d356000000980000000b0000000000000000000000800100000000636f6e"
    "76302f572e6e7079504b0102140314000000080000002100ee19bb5d4600000082000000080000000000000000000000800193000000"
    "666c61672e6e7079504b050600000000020002006f000000130100000000";

TEST(Npz, EveryTypeAndShapeRoundTripsBitForBit) {
  TempDir dir;
  write_npz(dir / "x", one_of_each());
  expect_same(read_npz(dir / "x"), one_of_each());
  write_npz(dir / "none", {});
  EXPECT_TRUE(read_npz(dir / "none").empty());
}

TEST(Npz, ReadsWhatNumpyCompressedInFortranOrder) {
  expect_same(read_bytes(from_hex(kFromNumpy)), {{"conv0/W", Array::of<float>({2, 3}, {0, 1, 2, 3, 4, 5})},
                                                 {"flag", Array::of<bool>({2}, {true, false})}});
}

TEST(Npz, WritesTheBytesThatNumpyReads) {
  TempDir dir;
  write_npz(dir / "x", {{"w", Array::of<float>({1}, {1.5f})}});
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  dict.resize(117, ' ');
  const std::string bytes = read_file(dir / "x");
  const std::string content = npy(dict + "\n", floats({1.5f}));
  ASSERT_TRUE(contains(bytes, content));
  EXPECT_EQ((content.size() - 4) % 64, 0u);
  // Sizes, checksum and offsets against the independent maker; it leaves dates and permissions at 0.
  std::string expected = zip_of({{.name = "w.npy", .content = content}});
  const std::size_t entry = bytes.find("PK\1\2");
  ASSERT_EQ(bytes.size(), expected.size());
  for (const std::size_t at :
       {std::size_t{12}, std::size_t{13}, entry + 5, entry + 14, entry + 15, entry + 40, entry + 41})
    expected[at] = bytes[at];
  EXPECT_EQ(bytes, expected);
}

TEST(Npz, ReadsAllHeaderVersionsStoredAndDeflated) {
  for (int version : {1, 2, 3})
    for (std::uint16_t method : {0, 8}) {
      const std::string content = npy(npy_dict("<f4", "(2, 1)"), floats({3, 4}), version);
      expect_same(read_bytes(zip_of({{.name = "w.npy", .content = content, .method = method}}, "a comment")),
                  {{"w", Array::of<float>({2, 1}, {3, 4})}});
    }
}

TEST(Npz, RearrangesFortranOrderOfAnyRank) {
  // In Fortran order the first index runs fastest: element (i, j, k) of [2, 3, 2] is at i + 2 * (j + 3 * k).
  std::string data;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) data += le(std::int32_t{100 * i + 10 * j + k});
  const Arrays got = read_bytes(zip_of({{.name = "w.npy", .content = npy(npy_dict("<i4", "(2, 3, 2)", "True"), data)},
                                        {.name = "e.npy", .content = npy(npy_dict("<i4", "(2, 0)", "True"), "")}}));
  expect_same(got, {{"w", Array::of<std::int32_t>({2, 3, 2}, {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121})},
                    {"e", Array(i32, {2, 0})}});
}

TEST(Npz, ReadsOddlySpelledHeaders) {
  expect_same(read_bytes(zip_of({{.name = "w.npy",
                                  .content = npy("{\"shape\":(1L , 2L),\"fortran_order\" : False,'descr':'<f4'}  \n",
                                                 floats({1, 2}))}})),
              {{"w", Array::of<float>({1, 2}, {1, 2})}});
}

TEST(Npz, AFileCutAtAnyByteIsRefused) {
  TempDir dir;
  write_npz(dir / "x", one_of_each());
  for (const std::string& bytes : {read_file(dir / "x"), from_hex(kFromNumpy)})
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      put_bytes(dir / "cut", bytes.substr(0, length));
      EXPECT_THROW(read_npz(dir / "cut"), FileError) << length;
    }
}

TEST(Npz, AThousandFlippedBytesEndInAFileErrorOrInTheSameArrays) {
  TempDir dir;
  write_npz(dir / "x", one_of_each());
  std::mt19937 random(21);
  int refused = 0;
  for (const std::string& bytes : {read_file(dir / "x"), from_hex(kFromNumpy)}) {
    const Arrays original = read_bytes(bytes);
    for (int i = 0; i < 1000; ++i) {
      std::string flipped = bytes;
      flipped[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
      put_bytes(dir / "flipped", flipped);
      try {
        expect_same(read_npz(dir / "flipped"), original);  // a flipped date, say
      } catch (const FileError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Npz, ArchivesThatLieAreRefusedWithTheReason) {
  const std::string good = npy(npy_dict("<f4", "(2,)"), floats({1, 2}));
  const auto with = [&](auto change) {
    ZipPart part{.name = "w.npy", .content = good};
    change(part);
    return zip_of({part});
  };
  EXPECT_EQ(refusal_of("not a zip"),
            "expected the directory of a zip archive at the file's end, got none. "
            "The file may be cut short, or no .npz file.");
  EXPECT_EQ(refusal_of(zip_of({{.name = "w.npy", .content = good}, {.name = "w.npy", .content = good}})),
            "expected every name once, got 'w.npy' twice.");
  EXPECT_EQ(refusal_of(zip_of({{.name = "a.npy", .content = good},
                               {.name = "b.npy", .content = good, .local_at = 0, .local_name = "a.npy"}})),
            "entry 'b.npy': expected the same name in front of its data, got another.");
  EXPECT_EQ(refusal_of(zip_of({{.name = "w.npy", .content = good}}, "", 2)),
            "expected 2 entries, got a directory that is too short.");
  EXPECT_EQ(refusal_of(zip_of({{.name = std::string(46, 'n') + ".npy", .content = good}}, "", 2)),
            "expected a directory entry, got other bytes.");
  EXPECT_EQ(refusal_of(zip_of({{.name = "w.npy", .content = good}}, "", 0)),
            "expected 0 entries, got a directory that is too long.");
  EXPECT_EQ(refusal_of(zip_of({{.name = "w.npy", .content = good}}, "", 0xffff)),
            "expected a zip64 directory for an archive that is too large for another, got none.");
  EXPECT_EQ(refusal_of(with([](ZipPart& p) { p.name = "readme.txt"; })),
            "entry 'readme.txt': expected a name that ends in .npy, got another.");
  EXPECT_EQ(refusal_of(with([](ZipPart& p) { p.flags = 1; })), "entry 'w.npy': expected plain data, got encrypted.");
  EXPECT_EQ(refusal_of(with([](ZipPart& p) { p.method = 12; })),
            "entry 'w.npy': expected stored or deflated data, got compression method 12.");
  EXPECT_EQ(refusal_of(with([](ZipPart& p) { p.size = 0xffffffff; })),
            "entry 'w.npy': expected its zip64 sizes in an extra field, got too few of them.");
  EXPECT_EQ(refusal_of(with([](ZipPart& p) { p.local_at = 1'000'000; })),
            "entry 'w.npy': expected a position inside the archive, got 1000000.");
  EXPECT_EQ(refusal_of(with([](ZipPart& p) { p.local_at = 1; })),
            "entry 'w.npy': expected a header in front of its data, got other bytes.");
  EXPECT_EQ(refusal_of(with([](ZipPart& p) { p.compressed = p.size = 5000; })),
            "entry 'w.npy': expected data inside the archive, got 5000 bytes at 0.");
  EXPECT_EQ(refusal_of(with([](ZipPart& p) { p.size = 5000; })),
            "entry 'w.npy': expected a size that its data can have, got 5000 from " + std::to_string(good.size()) +
                " bytes.");
  EXPECT_EQ(refusal_of(with([](ZipPart& p) { p.crc = 0; })).substr(0, 46),
            "entry 'w.npy': expected the checksum 00000000,");
}

TEST(Npz, OverlappingEntriesAreRefused) {
  // The second entry is a whole archive's entry hidden inside the data of the first.
  const std::string inner = npy(npy_dict("|u1", "(1,)"), "x");
  const std::string hidden = zip_of({{.name = "b.npy", .content = inner}}).substr(0, 35 + inner.size());
  const std::string outer = npy(npy_dict("|u1", "(" + std::to_string(hidden.size()) + ",)"), hidden);
  const auto at = static_cast<std::uint32_t>(35 + outer.size() - hidden.size());
  EXPECT_EQ(
      refusal_of(zip_of({{.name = "a.npy", .content = outer}, {.name = "b.npy", .content = inner, .local_at = at}})),
      "expected entries one after the other, got two that overlap at " + std::to_string(at) + ".");
}

TEST(Npz, BombsAreRefusedBeforeMemoryIsTaken) {
  const std::string head = npy(npy_dict("|u1", "(4000000000,)"), "");
  ZipPart bomb{.name = "w.npy", .content = head, .method = 8};
  bomb.size = static_cast<std::uint32_t>(head.size() + 4'000'000'000);
  EXPECT_EQ(refusal_of(zip_of({bomb})).substr(0, 54), "entry 'w.npy': expected a size that its data can have,");
  // Twenty bytes declared, a million inside: reading stops after what was declared.
  ZipPart more{.name = "w.npy", .method = 8};
  more.content = npy(npy_dict("|u1", "(20,)"), std::string(1'000'000, 'x'));
  more.size = static_cast<std::uint32_t>(more.content.size() - 1'000'000 + 20);
  EXPECT_EQ(refusal_of(zip_of({more})), "entry 'w.npy': expected " + std::to_string(*more.size) +
                                            " bytes of content, got another number. The file is damaged.");
}

TEST(Npz, DamagedDeflateDataAreRefused) {
  const std::string content = npy(npy_dict("|u1", "(50000,)"), std::string(50'000, 'x'));
  const ZipPart good{.name = "w.npy", .content = content, .method = 8};
  ZipPart cut = good, garbage = good, longer = good;
  cut.stored = deflated(content).substr(0, 100);
  garbage.stored = std::string(200, '\xff');
  longer.stored = deflated(content) + "more";
  EXPECT_TRUE(contains(refusal_of(zip_of({cut})), " bytes of deflated data, got an error after "));
  EXPECT_TRUE(
      contains(refusal_of(zip_of({garbage})), " bytes of deflated data, got an error after 0. The file is damaged."));
  EXPECT_TRUE(contains(refusal_of(zip_of({longer})), " bytes of content, got another number."));
  ZipPart shorter = good;
  shorter.stored = deflated(content.substr(0, content.size() - 1));
  EXPECT_EQ(refusal_of(zip_of({shorter})), "entry 'w.npy': expected " + std::to_string(content.size()) +
                                               " bytes of deflated data, got their end after " +
                                               std::to_string(content.size() - 1) + ". The file is damaged.");
}

TEST(Npz, NpyHeadersThatLieAreRefusedWithTheReason) {
  const std::string two = floats({1, 2});
  const auto dict = [&](std::string_view descr, std::string_view shape, std::string_view order = "False") {
    return refusal_of_npy(npy(npy_dict(descr, shape, order), two));
  };
  EXPECT_EQ(dict("<c8", "(4,)"),
            "expected a dtype of f2, f4, f8, i1 to i8, u1 to u8 or b1, got '<c8'. "
            "Convert it with astype() before saving.");
  EXPECT_TRUE(contains(dict(">c8", "(4,)"), "got '>c8'."));
  EXPECT_EQ(dict("<f4", "(3,)"), "expected the data of f32 [3], got 8 bytes.");
  EXPECT_EQ(dict("<f4", "(1,)"), "expected the data of f32 [1], got 8 bytes.");
  EXPECT_EQ(dict("<f4", "(-2,)"), "expected dimensions of 0 or more, got -2.");
  EXPECT_EQ(dict("<f4", "(99999999999999999999,)"),
            "expected a whole number below 2^63 as a dimension, got '99999999999999999999'.");
  EXPECT_EQ(dict("<f4", "(4294967296, 4294967296, 2)"),
            "expected the data of f32 [4294967296, 4294967296, 2], got 8 bytes.");
  EXPECT_EQ(dict("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 2)"), "expected at most 8 dimensions, got more.");
  EXPECT_EQ(dict("<f4", "(2"), "expected a whole number below 2^63 as a dimension, got '}\n'.");
  EXPECT_EQ(dict("<f4", "(2 3)"), "expected ')' in the header, got '3), }\n'.");
  EXPECT_EQ(dict("<f4", "2"), "expected '(' in the header, got '2, }\n'.");
  EXPECT_EQ(dict("<f4", "(2,)", "Maybe"), "expected True or False for fortran_order, got 'Maybe, 'shape': (2,)'.");
  EXPECT_EQ(dict("|b1", "(8,)"), "expected booleans of 0 or 1, got another byte.");
  EXPECT_EQ(refusal_of_npy(npy("{'descr': [('a', '<f4')], }", two)),
            "expected a plain dtype in quotes, got '[('a', '<f4')], }'. "
            "Structured dtypes are not supported.");
  EXPECT_EQ(refusal_of_npy(npy("{'descr': '<f4', 'shape': (2,)}", two)),
            "expected descr, fortran_order and shape, got only some of them.");
  EXPECT_EQ(refusal_of_npy(npy("{'descr': '<f4', 'descr': '<f4'}", two)),
            "expected descr, fortran_order and shape once each, got 'descr'.");
  EXPECT_EQ(refusal_of_npy(npy("{'more': 1}  ", two)),
            "expected descr, fortran_order and shape once each, got 'more'.");
  EXPECT_EQ(refusal_of_npy(npy(npy_dict("<f4", "(2,)") + "x", two)),
            "expected nothing after the header's dict, got 'x'.");
  EXPECT_EQ(refusal_of_npy(npy("{'descr", two)), "expected a key in quotes, got ''descr'.");
  EXPECT_EQ(refusal_of_npy(npy("", "")), "expected 12 more bytes, got 10.");
  EXPECT_EQ(refusal_of_npy(npy("{", two)), "expected a .npy header within its 19 bytes, got one of 11.");
  EXPECT_EQ(refusal_of_npy(npy("{}", two).replace(0, 1, "x")), "expected the first bytes of a .npy file, got others.");
  EXPECT_EQ(refusal_of_npy(npy("{}", two, 4)), "expected .npy version 1.0 to 3.0, got 4.0.");
  EXPECT_EQ(refusal_of_npy(npy("{}", two, 2).replace(8, 4, "\xff\xff\xff\xff")),
            "expected a .npy header of at most 65536 bytes, got 4294967295.");
  EXPECT_EQ(refusal_of_npy(npy("{}", two).replace(8, 2, "\xff\xff")),
            "expected a .npy header within its 20 bytes, got one of 65545.");
}

TEST(Npz, AFullDiskLeavesTheOldFileAndNoTemporary) {
  TempDir dir;
  write_npz(dir / "x", {{"a", Array(1.f)}});
  const std::string text = file_error_of([&] {
    FullDisk disk(10'000);
    write_npz(dir / "x", {{"a", Array::zeros(f32, {100'000})}});
  });
  EXPECT_TRUE(contains(text, "What was at this path before is unchanged.")) << text;
  expect_same(read_npz(dir / "x"), {{"a", Array(1.f)}});
  EXPECT_EQ(dir.names(), std::vector<std::string>{"x"});
}

TEST(Npz, TurnsBigEndianNumbersRound) {
  const std::string data("\0\0\0\1\xff\xff\xff\xfe", 8);
  expect_same(
      read_bytes(zip_of({{.name = "w.npy", .content = npy(npy_dict(">i4", "(2,)"), data)},
                         {.name = "d.npy", .content = npy(npy_dict(">f8", "()"), "\x3f\xf8" + std::string(6, '\0'))}})),
      {{"w", Array::of<std::int32_t>({2}, {1, -2})}, {"d", Array(1.5)}});
}

TEST(Npz, DeflatedArchivesAreSmallerAndReadTheSame) {
  TempDir dir;
  Arrays arrays = one_of_each();
  arrays["zeros"] = Array::zeros(f32, {100'000});
  write_npz(dir / "x", arrays, {.deflate = true});
  expect_same(read_npz(dir / "x"), arrays);
  EXPECT_LT(read_file(dir / "x").size(), 10'000u);
}

TEST(Npz, OnlyTheNamedArraysAreRead) {
  TempDir dir;
  const std::string good = npy(npy_dict("|u1", "(1,)"), "x");
  put_bytes(dir / "x", zip_of({{.name = "a.npy", .content = good}, {.name = "b.npy", .content = good, .crc = 0}}));
  expect_same(read_npz(dir / "x", {"a"}), {{"a", Array::of<std::uint8_t>({1}, {'x'})}});
  EXPECT_THROW(read_npz(dir / "x", {"a", "b"}), FileError);
  EXPECT_EQ(file_error_of([&] { read_npz(dir / "x", {"a", "c"}); }),
            "[npz] '" + dir / "x" + "': expected an array 'c', got only a, b.");
}

TEST(Npy, RoundTripsAndRefusesWhatIsNoArray) {
  TempDir dir;
  for (const auto& [name, array] : one_of_each()) {
    write_npy(dir / "x", array);
    EXPECT_TRUE(equal(read_npy(dir / "x"), array)) << name;
    const std::string bytes = read_file(dir / "x");
    for (std::size_t length = 0; length < bytes.size(); length += 7) {
      put_bytes(dir / "cut", bytes.substr(0, length));
      EXPECT_THROW(read_npy(dir / "cut"), FileError) << name << " " << length;
    }
  }
  put_bytes(dir / "longer", npy(npy_dict("<f4", "(1,)"), floats({1, 2})));
  EXPECT_EQ(file_error_of([&] { read_npy(dir / "longer"); }),
            "[npy] '" + dir / "longer" + "': expected the data of f32 [1], got 8 bytes.");
  put_bytes(dir / "fortran", npy(npy_dict("<f4", "(2, 2)", "True"), floats({1, 2, 3, 4})));
  EXPECT_TRUE(equal(read_npy(dir / "fortran"), Array::of<float>({2, 2}, {1, 3, 2, 4})));
}

}  // namespace
}  // namespace belfry
