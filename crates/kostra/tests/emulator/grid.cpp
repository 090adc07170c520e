// Runs a launch's blocks and threads, one at a time.
//
// A thread is a fiber: a stack of its own, and `emulator_switch` goes from one to the other. It runs until it has to wait for
// others, at a barrier or for the lanes of its warp, or until it has accessed memory so often that another's turn has come: so
// spinning ends, and races show. All happens on the host thread that launched the kernel, so a run can be repeated: order
// and turns depend only on KOSTRA_EMULATOR_SEED (0: threads in order and long turns, 1: in reverse order, others, and 2 unless set: at random) and
// on the launch.
//
// What is noticed: accesses outside of the memory that was allocated, or not aligned; reads of what nobody wrote; barriers and
// meetings of lanes that not all of those named reach, or that differ; waiting that can have no end. What is not: that
// memory on a GPU is ordered more weakly, and its speed.
#include "grid.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <vector>

#include <sys/mman.h>

#include "memory.h"

extern "C" void *__tls_get_addr(unsigned long long where[2]);

// Keeps the registers that a call must keep on the stack, and goes on with another.
extern "C" void emulator_switch(void **keep, void *stack);
asm(R"(
.text
.hidden emulator_switch
emulator_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
)");

namespace emulator {
namespace {
using u32 = unsigned;
using u64 = unsigned long long;

constexpr u32 WARP = 32;
// Not a power of two, so that not all stacks begin in the same part of the cache.
constexpr u64 STACK = 24 * 1024 + 320;
constexpr int POISON = 0xa5;
// Accesses that a turn lasts: without chance, and on average with it; and what a look past the cache counts, which may be one
// of many until something changes.
constexpr int TURN = 20'000, RANDOM_TURN = 400, LOOK = 50;
// Turns in a row in which nothing was written, after which that is taken for waiting without end.
constexpr u32 QUIET = 1'000'000;

enum State : unsigned char { READY, AT_LANES, AT_BARRIER, GONE };

struct Thread {
    void *stack;
    u64 value, result;
    u32 number, mask, argument;
    Meeting meeting;
    State state;
};

// Threads that can go on, in order: at most as many as a block has.
struct Queue {
    static constexpr u32 ROOM = 1024;
    unsigned short numbers[ROOM];
    u32 first, count;

    void push(u32 number) { numbers[(first + count++) % ROOM] = (unsigned short)number; }
    u32 pop(u32 ahead) {
        std::swap(numbers[first % ROOM], numbers[(first + ahead) % ROOM]);
        return count--, numbers[first++ % ROOM];
    }
};

struct Block {
    uint3 index;
    std::vector<Thread> threads;
    // Lanes of each warp that wait for others, and that are gone.
    std::vector<u32> waiting, gone;
    Queue ready;
    std::vector<char> shared;
    char *dynamic, *stacks;
    u32 at_barrier, votes, outcome, left;
};

// The stacks of a block.
constexpr u64 STACKS = Queue::ROOM * STACK;

// The kernel that runs on this thread of the host, and whose turn it is.
struct Running {
    const Launch *launch;
    Block *block;
    Thread *thread;
    void *host_stack;
    u64 chance;
    int turn;
    u32 quiet;
    bool has_written, is_reversed, is_random;
};
thread_local Running now __attribute__((tls_model("initial-exec")));

u64 draw() {
    now.chance ^= now.chance << 13, now.chance ^= now.chance >> 7, now.chance ^= now.chance << 17;
    return now.chance * 0x2545f4914f6cdd1dull >> 32;
}

int next_turn() { return now.is_random ? 1 + (int)(draw() % (2 * RANDOM_TURN)) : TURN; }

// Goes on with another thread of the block, or with the host where none can.
void leave() {
    Block &block = *now.block;
    Thread &self = *now.thread;
    if (!block.ready.count) return emulator_switch(&self.stack, now.host_stack);
    now.thread = &block.threads[block.ready.pop(now.is_random ? draw() % block.ready.count : 0)];
    if (now.thread != &self) emulator_switch(&self.stack, now.thread->stack);
}

void let_others_run() {
    now.turn = next_turn();
    if (!now.block) return;
    now.quiet = now.has_written ? 0 : now.quiet + 1;
    now.has_written = false;
    if (now.quiet > QUIET) fail("waits for something that nobody does");
    Block &block = *now.block;
    block.ready.push(now.thread->number);
    if (now.is_random && draw() % 4) return leave();
    emulator_switch(&now.thread->stack, now.host_stack);
}

// Takes a step for all of so many, in the order of this run.
template <typename Step> void in_order(u32 count, Step step) {
    for (u32 i = 0; i < count; i++) step(now.is_reversed ? count - 1 - i : i);
}

void start_thread() {
    now.launch->door(now.launch->arguments);
    Block &block = *now.block;
    u32 number = now.thread->number, lane = number % WARP, warp = number / WARP;
    if (block.at_barrier) fail("ends while others wait at a barrier");
    for (u32 other = 0; other < WARP; other++)
        if (block.waiting[warp] >> other & 1 && now.thread[(int)other - (int)lane].mask >> lane & 1) fail("ends while lane %u waits for it", other);
    block.gone[warp] |= 1u << lane;
    now.thread->state = GONE;
    now.has_written = true;
    block.left--;
    leave();
}

void prepare(Block &block, u32 threads) {
    block.threads.resize(threads);
    block.waiting.resize((threads + WARP - 1) / WARP), block.gone.resize(block.waiting.size());
    block.shared.resize(now.launch->shared.bytes);
    block.dynamic = now.launch->dynamic_bytes ? (char *)memory::allocate(now.launch->dynamic_bytes, false) : nullptr;
}

void start(Block &block, u64 number) {
    uint3 grid = now.launch->grid;
    block.index = {(u32)(number % grid.x), (u32)(number / grid.x % grid.y), (u32)(number / grid.x / grid.y)};
    block.at_barrier = block.votes = 0, block.left = (u32)block.threads.size();
    block.ready.first = block.ready.count = 0;
    std::fill(block.waiting.begin(), block.waiting.end(), 0), std::fill(block.gone.begin(), block.gone.end(), 0);
    std::memset(block.shared.data(), POISON, block.shared.size());
    if (block.dynamic) memory::forget(block.dynamic, now.launch->dynamic_bytes);
    in_order(block.left, [&](u32 i) {
        // What `emulator_switch` takes from the stack: six registers, then where to go on, which nobody called.
        void **top = (void **)(((u64)block.stacks + (i + 1) * STACK) / 16 * 16) - 8;
        std::memset(top, 0, 8 * sizeof(void *));
        top[6] = (void *)start_thread;
        block.threads[i].stack = top, block.threads[i].number = i, block.threads[i].state = READY;
        block.ready.push(i);
    });
}

[[noreturn]] void fail_stuck(Block &block) {
    for (Thread &thread : block.threads) {
        if (thread.state == GONE) continue;
        now.thread = &thread;
        if (thread.state == AT_BARRIER) fail("waits at a barrier with %u of %zu threads", block.at_barrier, block.threads.size());
        fail("waits for the lanes %08x, of which %08x have come", thread.mask, block.waiting[thread.number / WARP] & thread.mask);
    }
    std::abort();
}

// Stacks that a thread of the host keeps for its next launch.
struct Stacks {
    std::vector<char *> blocks;
    ~Stacks() {
        for (char *block : blocks) munmap(block, STACKS);
    }
    char *of(u32 number) {
        while (blocks.size() <= number) {
            void *at = mmap(nullptr, STACKS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (at == MAP_FAILED) std::abort();
            blocks.push_back((char *)at);
        }
        return blocks[number];
    }
};
} // namespace

void fail(const char *text, ...) {
    std::fprintf(stderr, "emulator: ");
    if (now.launch && now.block) {
        uint3 index = now.block->index;
        std::fprintf(stderr, "%s, block %u.%u, thread %u ", now.launch->kernel, index.x, index.y, now.thread->number);
    }
    va_list arguments;
    va_start(arguments, text);
    std::vfprintf(stderr, text, arguments);
    std::fprintf(stderr, "\n");
    std::abort();
}

void run(const Launch &launch) {
    // In order, a barrier that is missing may not show.
    static const char *const chosen = std::getenv("KOSTRA_EMULATOR_SEED");
    static const u64 seed = chosen ? std::strtoull(chosen, nullptr, 10) : 2;
    static thread_local Stacks stacks;
    now = {};
    now.launch = &launch;
    now.is_reversed = seed == 1, now.is_random = seed > 1;
    now.chance = seed * 0x9e3779b97f4a7c15ull + launch.grid.x + 1;
    for (const char *c = launch.kernel; *c; c++) now.chance = (now.chance ^ (u64)*c) * 0x100000001b3ull;
    now.turn = next_turn();
    u64 where[2] = {launch.shared.module, 0};
    char *shared = launch.shared.bytes ? (char *)__tls_get_addr(where) : nullptr;

    // A block begins when all that have begun have had their turn: so small ones share a place, which stays in the cache.
    u64 count = (u64)launch.grid.x * launch.grid.y * launch.grid.z, begun = 0;
    std::vector<Block> blocks(std::min<u64>(count, launch.resident));
    std::vector<Block *> idle, running;
    for (Block &block : blocks) {
        prepare(block, launch.threads);
        block.stacks = stacks.of((u32)(&block - blocks.data()));
        idle.insert(idle.begin(), &block);
    }
    for (u64 at = 0; begun < count || !running.empty(); at++) {
        if (now.is_random) at = draw();
        if (begun < count && !idle.empty() && at % (running.size() + 1) == running.size()) {
            running.push_back(idle.back()), idle.pop_back();
            start(*running.back(), now.is_reversed ? count - 1 - begun : begun);
            begun++;
        }
        auto turn = running.begin() + (std::ptrdiff_t)(at % running.size());
        Block &block = **turn;
        now.block = &block;
        if (block.shared.size()) std::memcpy(shared, block.shared.data(), block.shared.size());
        now.thread = &block.threads[block.ready.pop(now.is_random ? draw() % block.ready.count : 0)];
        emulator_switch(&now.host_stack, now.thread->stack);
        if (block.shared.size()) std::memcpy(block.shared.data(), shared, block.shared.size());
        if (block.ready.count) continue;
        if (block.left) fail_stuck(block);
        idle.push_back(&block);
        running.erase(turn);
    }
    for (Block &block : blocks)
        if (block.dynamic) memory::release(block.dynamic);
    now = {};
}

unsigned thread_number() { return now.thread->number; }
uint3 block_index() { return now.block->index; }
uint3 block_shape() { return {now.launch->threads, 1, 1}; }
uint3 grid_shape() { return now.launch->grid; }
char *dynamic_memory() { return now.block->dynamic; }

// What the lanes that have met get. One may ask for the value of a lane before the first or behind the last, which is its own.
static void exchange(Thread *warp, Meeting meeting, u32 mask) {
    u64 votes = 0;
    for (u32 lane = 0; lane < WARP; lane++) votes |= (u64)(mask >> lane & 1 && warp[lane].value) << lane;
    for (u32 lane = 0; lane < WARP; lane++) {
        Thread &self = warp[lane];
        if (!(mask >> lane & 1)) continue;
        u32 other = lane;
        switch (meeting) {
        case SHUFFLE: other = self.argument % WARP; break;
        case SHUFFLE_UP: other = lane - self.argument; break;
        case SHUFFLE_DOWN: other = lane + self.argument; break;
        case SHUFFLE_XOR: other = lane ^ self.argument; break;
        case BALLOT: self.result = votes; continue;
        case ANY: self.result = votes != 0; continue;
        case MATCH:
            self.result = 0;
            for (u32 i = 0; i < WARP; i++) self.result |= (u64)(mask >> i & 1 && warp[i].value == self.value) << i;
            continue;
        default: continue;
        }
        if (other < WARP && !(mask >> other & 1)) fail("asks lane %u, which is not among %08x", other, mask);
        self.result = warp[other < WARP ? other : lane].value;
    }
}

u64 meet_lanes(Meeting meeting, unsigned mask, u64 value, unsigned argument) {
    Block &block = *now.block;
    Thread &self = *now.thread;
    u32 number = self.number, lane = number % WARP;
    Thread *warp = &self - lane;
    u32 &waiting = block.waiting[number / WARP];
    if (!(mask >> lane & 1)) fail("is not among the lanes %08x that it waits for", mask);
    if (u32 gone = mask & block.gone[number / WARP]) fail("waits for the lanes %08x, which have ended", gone);
    self.meeting = meeting, self.mask = mask, self.value = value, self.argument = argument;
    waiting |= 1u << lane;
    if ((waiting & mask) != mask) {
        self.state = AT_LANES;
        leave();
        return self.result;
    }
    for (u32 other = 0; other < WARP; other++)
        if (mask >> other & 1 && (warp[other].mask != mask || warp[other].meeting != meeting))
            fail("waits for the lanes %08x, but lane %u for %08x, or for something else", mask, other, warp[other].mask);
    exchange(warp, meeting, mask);
    waiting &= ~mask;
    in_order(WARP, [&](u32 other) {
        if (!(mask >> other & 1) || other == lane) return;
        warp[other].state = READY;
        block.ready.push(number - lane + other);
    });
    if ((now.turn -= LOOK) < 0) let_others_run();
    return self.result;
}

unsigned meet_block(Meeting meeting, bool vote) {
    Block &block = *now.block;
    Thread &self = *now.thread;
    if (block.left < block.threads.size()) fail("is at a barrier, but %zu threads have ended", block.threads.size() - block.left);
    self.meeting = meeting;
    block.votes += vote;
    if (++block.at_barrier < block.threads.size()) {
        self.state = AT_BARRIER;
        leave();
        return block.outcome;
    }
    for (Thread &other : block.threads)
        if (other.meeting != meeting) fail("is at another barrier than thread %u", other.number);
    block.outcome = block.votes;
    block.at_barrier = block.votes = 0;
    in_order((u32)block.threads.size(), [&](u32 i) {
        if (&block.threads[i] == &self) return;
        block.threads[i].state = READY;
        block.ready.push(i);
    });
    return block.outcome;
}

// ---- what the compiler calls before every access ---------------------------------------------------------------------

static inline void check_read(const void *at, u32 bytes) {
    if (--now.turn < 0) let_others_run();
    if (memory::is_inside(at) && !memory::is_written(at, bytes))
        fail("reads %u bytes at %p, %s", bytes, at, memory::has_state(at, bytes, memory::ALLOCATED) ? "which nobody wrote" : "outside of what was allocated");
}

static inline void check_write(void *at, u32 bytes) {
    if (--now.turn < 0) let_others_run();
    now.has_written = true;
    if (memory::is_inside(at) && !memory::write(at, bytes)) fail("writes %u bytes at %p, outside of what was allocated", bytes, at);
}

// Whole numbers and vectors have to be aligned.
static inline void *aligned(void *at, u32 bytes) {
    if ((u64)at % bytes) fail("accesses %u bytes at %p, which is not aligned", bytes, at);
    return at;
}

#define CALLED(BYTES)                                                                                                  \
    extern "C" void __tsan_read##BYTES(void *at) { check_read(aligned(at, BYTES), BYTES); }                            \
    extern "C" void __tsan_write##BYTES(void *at) { check_write(aligned(at, BYTES), BYTES); }                          \
    extern "C" void __tsan_volatile_read##BYTES(void *at) { now.turn -= LOOK, check_read(aligned(at, BYTES), BYTES); } \
    extern "C" void __tsan_volatile_write##BYTES(void *at) { check_write(aligned(at, BYTES), BYTES); }
CALLED(1)
CALLED(2)
CALLED(4)
CALLED(8)
CALLED(16)
extern "C" void __tsan_read_range(void *at, u64 bytes) { check_read(at, (u32)bytes); }
extern "C" void __tsan_write_range(void *at, u64 bytes) { check_write(at, (u32)bytes); }
extern "C" void __tsan_init() {}

template <typename T, typename Change> static T change(T *at, Change change) {
    now.turn -= LOOK;
    check_read(aligned(at, sizeof(T)), sizeof(T)), now.has_written = true;
    T before = *at;
    *at = change(before);
    return before;
}
} // namespace emulator

#define ATOMIC(NAME, AFTER)                                                                                            \
    unsigned NAME(unsigned *at, unsigned value) {                                                                      \
        return emulator::change(at, [&](unsigned before) { return AFTER; });                                           \
    }                                                                                                                  \
    unsigned long long NAME(unsigned long long *at, unsigned long long value) {                                        \
        return emulator::change(at, [&](unsigned long long before) { return AFTER; });                                 \
    }
ATOMIC(atomicAdd, before + value)
ATOMIC(atomicMin, before < value ? before : value)
ATOMIC(atomicMax, before > value ? before : value)
ATOMIC(atomicOr, before | value)
unsigned atomicCAS(unsigned *at, unsigned expected, unsigned value) {
    return emulator::change(at, [&](unsigned before) { return before == expected ? value : before; });
}
unsigned long long atomicCAS(unsigned long long *at, unsigned long long expected, unsigned long long value) {
    return emulator::change(at, [&](unsigned long long before) { return before == expected ? value : before; });
}
