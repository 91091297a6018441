// The switch from one stack to another: saves what a called function must leave alone, as the calling conventions of
// System V (x86-64) and AAPCS64 (arm64) have it, tells where, and goes on at the other stack.

void sim_switch(void** from, void* to) __asm__("hvm4viz_sim_switch");

#if defined(__APPLE__)
#define SIM_LOCAL ".private_extern hvm4viz_sim_switch\n"
#else
#define SIM_LOCAL ".hidden hvm4viz_sim_switch\n"
#endif

#if defined(__x86_64__)
#define SIM_SAVED 6u  // registers on the stack of a fiber that waits
__asm__(
    ".text\n"
    ".globl hvm4viz_sim_switch\n" SIM_LOCAL
    ".p2align 4\n"
    "hvm4viz_sim_switch:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n");
#elif defined(__aarch64__)
#define SIM_SAVED 20u
__asm__(
    ".text\n"
    ".globl hvm4viz_sim_switch\n" SIM_LOCAL
    ".p2align 4\n"
    "hvm4viz_sim_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n"
    "  stp x21, x22, [sp, #16]\n"
    "  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n"
    "  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n"
    "  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n"
    "  ldp x21, x22, [sp, #16]\n"
    "  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n"
    "  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n"
    "  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");
#else
#error "the sim device has no switch for this processor"
#endif
