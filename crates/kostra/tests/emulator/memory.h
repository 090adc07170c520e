// The emulated GPU's memory: one range of addresses, and for each byte of it another that tells whether it may be used.
//
// Between allocations there are gaps, and the place of what was freed is used again as late as possible, so that an access which
// is a little too far or too late is noticed.
#pragma once
#include <cstdint>

namespace emulator::memory {
using u64 = unsigned long long;

// States of a byte.
constexpr unsigned char FREE = 0, ALLOCATED = 1, WRITTEN = 3;

// Where memory begins, how long it is, and how far behind a byte its state is.
extern char *const start;
extern const u64 length;
inline unsigned char *states(const void *at) { return (unsigned char *)at + length; }
inline bool is_inside(const void *at) { return (u64)((const char *)at - start) < length; }

// Bytes that programs may allocate, and those that they have allocated.
u64 total();
u64 used();

// Room that is not counted is for the emulator itself. Null where there is not enough.
void *allocate(u64 bytes, bool is_counted);
bool release(void *at);
// Forgets that a range was written.
void forget(void *at, u64 bytes);

// Whether all bytes of a range are in one of the states that have this one's bits.
bool has_state(const void *at, u64 bytes, unsigned char state);
// For the few bytes of a kernel's access.
inline bool is_written(const void *at, unsigned bytes) {
    const unsigned char *state = states(at);
    if (bytes == 4) return *(const std::uint32_t *)state == 0x03030303u;
    if (bytes == 8) return *(const u64 *)state == 0x0303030303030303ull;
    return has_state(at, bytes, WRITTEN);
}
inline bool write(void *at, unsigned bytes) {
    unsigned char *state = states(at);
    if (bytes == 4) {
        auto &all = *(std::uint32_t *)state;
        bool is_allocated = (all & 0x01010101u) == 0x01010101u;
        all |= is_allocated ? 0x02020202u : 0;
        return is_allocated;
    }
    bool is_allocated = has_state(at, bytes, ALLOCATED);
    if (is_allocated) __builtin_memset(state, WRITTEN, bytes);
    return is_allocated;
}
} // namespace emulator::memory
