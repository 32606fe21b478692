#include "belfry/base/internal/exception_text.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace belfry {
namespace {

TEST(ExceptionText, SaysWhatWasThrownOrThatItIsNoException) {
  EXPECT_EQ(text_of(std::make_exception_ptr(std::runtime_error("no such luck"))), "no such luck");
  EXPECT_EQ(text_of(std::make_exception_ptr(7)), "an exception that is not a std::exception");
}

}  // namespace
}  // namespace belfry
