// See memory.h.
#include "memory.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>

namespace emulator::memory {
namespace {
constexpr u64 GAP = 512;
// What programs find in memory that they have not written.
constexpr int POISON = 0xa5;

struct Room {
    u64 bytes;
    bool is_counted;
};

std::mutex lock;
// By their distance from the beginning, in order.
std::map<u64, Room> rooms;
u64 counted = 0, next = 0;

u64 read_total() {
    const char *megabytes = std::getenv("KOSTRA_EMULATOR_MEMORY");
    return (megabytes ? std::strtoull(megabytes, nullptr, 10) : 8192) << 20;
}
const u64 TOTAL = read_total();

char *reserve(u64 bytes) {
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    return (char *)at;
}

// The first place from `from` on with room for so many bytes and a gap.
u64 find(u64 from, u64 bytes) {
    u64 at = from;
    for (auto room = rooms.lower_bound(from); room != rooms.end() && room->first < at + bytes + GAP; ++room)
        at = (room->first + room->second.bytes + 2 * GAP - 1) / GAP * GAP;
    return at;
}
} // namespace

// Twice as long as what can be allocated, for gaps.
const u64 length = TOTAL * 2 + (1ull << 30);
char *const start = reserve(length * 2);

u64 total() { return TOTAL; }
u64 used() {
    std::lock_guard guard(lock);
    return counted;
}

void *allocate(u64 bytes, bool is_counted) {
    std::lock_guard guard(lock);
    if (bytes == 0 || (is_counted && counted + bytes > TOTAL)) return nullptr;
    u64 at = find(next, bytes);
    if (at + bytes + GAP > length) at = find(0, bytes);
    if (at + bytes + GAP > length) return nullptr;
    next = (at + bytes + 2 * GAP - 1) / GAP * GAP;
    rooms[at] = {bytes, is_counted};
    counted += is_counted ? bytes : 0;
    std::memset(start + at, POISON, bytes);
    std::memset(states(start + at), ALLOCATED, bytes);
    return start + at;
}

bool release(void *at) {
    std::lock_guard guard(lock);
    auto room = rooms.find((char *)at - start);
    if (room == rooms.end()) return false;
    u64 bytes = room->second.bytes;
    counted -= room->second.is_counted ? bytes : 0;
    std::memset(states(at), FREE, bytes);
    // Gives whole pages back.
    u64 first = ((u64)at + 4095) / 4096 * 4096, last = ((u64)at + bytes) / 4096 * 4096;
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED), madvise(states((void *)first), last - first, MADV_DONTNEED);
    rooms.erase(room);
    return true;
}

void forget(void *at, u64 bytes) { std::memset(states(at), ALLOCATED, bytes); }

bool has_state(const void *at, u64 bytes, unsigned char state) {
    if (!is_inside(at) || bytes > length - ((const char *)at - start)) return false;
    const unsigned char *states_of = states(at);
    for (u64 i = 0; i < bytes; i++)
        if ((states_of[i] & state) != state) return false;
    return true;
}
} // namespace emulator::memory
