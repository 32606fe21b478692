#include "belfry/engine/testing/far_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "belfry/base/check.h"

namespace belfry {
namespace {

// The pages are open while it exists.
class Opened {
 public:
  Opened(void* pages, std::size_t bytes, int how) : pages_(pages), bytes_(bytes) {
    BELFRY_BUG_IF(bytes_ > 0 && ::mprotect(pages_, bytes_, how) != 0, "cannot open the pages of a far array");
  }
  ~Opened() {
    if (bytes_ > 0) ::mprotect(pages_, bytes_, PROT_NONE);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  void* pages_;
  std::size_t bytes_;
};

}  // namespace

FarArray::FarArray(DType dtype, const Shape& shape)
    : bytes_(static_cast<std::size_t>(shape.elements()) * size_of(dtype)), dtype_(dtype), shape_(shape) {
  if (bytes_ == 0) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  reserved_ = (bytes_ + page - 1) / page * page;
  pages_ = ::mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BELFRY_BUG_IF(pages_ == MAP_FAILED, "cannot reserve {} bytes for a far array", reserved_);
}

FarArray::~FarArray() {
  if (reserved_ > 0) ::munmap(pages_, reserved_);
}

FarArray::FarArray(FarArray&& other) noexcept { *this = std::move(other); }

FarArray& FarArray::operator=(FarArray&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(bytes_, other.bytes_);
  std::swap(reserved_, other.reserved_);
  std::swap(dtype_, other.dtype_);
  std::swap(shape_, other.shape_);
  return *this;
}

void FarArray::put(const void* host) {
  const MutexLock lock(mutex_);
  const Opened opened(pages_, reserved_, PROT_READ | PROT_WRITE);
  if (bytes_ > 0) std::memcpy(pages_, host, bytes_);
}

void FarArray::get(void* host) const {
  const MutexLock lock(mutex_);
  const Opened opened(pages_, reserved_, PROT_READ);
  if (bytes_ > 0) std::memcpy(host, pages_, bytes_);
}

Array FarArray::get() const {
  Array out(dtype_, shape_);
  get(out.raw());
  return out;
}

}  // namespace belfry
