// Assertions that stay on in every build: a broken invariant in a lab that judges others must not pass
// silently.
#pragma once
#include <cstdio>
#include <cstdlib>

#define MQLAB_CHECK(condition)                                                                            \
  do {                                                                                                    \
    if (!(condition)) [[unlikely]] {                                                                      \
      std::fprintf(stderr, "mqlab: internal check failed: %s (%s:%d)\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                                       \
    }                                                                                                     \
  } while (false)
