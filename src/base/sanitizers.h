// Under which sanitizer this is compiled: gcc has macros of its own for them, clang features.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define KERNBENCH_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KERNBENCH_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef KERNBENCH_ADDRESS_SANITIZER
#define KERNBENCH_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define KERNBENCH_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KERNBENCH_THREAD_SANITIZER 1
#endif
#endif
#ifndef KERNBENCH_THREAD_SANITIZER
#define KERNBENCH_THREAD_SANITIZER 0
#endif
