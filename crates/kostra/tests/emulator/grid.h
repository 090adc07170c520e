// What runs a launch's blocks and threads, for the driver and for the kernels.
#pragma once

struct uint3 {
    unsigned x, y, z;
};

namespace emulator {
// What threads wait for together.
enum Meeting : int { SYNCWARP, SHUFFLE, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR, BALLOT, ANY, MATCH, SYNCTHREADS, SYNCTHREADS_OR, SYNCTHREADS_COUNT };

// These never change for a fiber.
__attribute__((const)) unsigned thread_number();
__attribute__((const)) uint3 block_index();
__attribute__((const)) uint3 block_shape();
__attribute__((const)) uint3 grid_shape();
__attribute__((const)) char *dynamic_memory();

// Waits for the lanes of a mask, and for all threads of the block.
unsigned long long meet_lanes(Meeting meeting, unsigned mask, unsigned long long value, unsigned argument);
unsigned meet_block(Meeting meeting, bool vote);

// A kernel's library has its shared variables here, in every thread of the host anew.
struct SharedVariables {
    unsigned long long module, bytes;
};

struct Launch {
    const char *kernel;
    void (*door)(void *const *arguments);
    void *const *arguments;
    uint3 grid;
    unsigned threads, dynamic_bytes;
    SharedVariables shared;
    // Blocks that run at a time.
    unsigned resident;
};

// Runs a kernel to its end. Where the kernel does what it must not, says so and aborts.
void run(const Launch &launch);

[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char *text, ...);
} // namespace emulator
