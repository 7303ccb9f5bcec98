// 128-bit products. A compiler extension of GCC and Clang, named once so that -Wpedantic need not be told
// twice.
#pragma once

namespace mqlab {

__extension__ using Uint128 = unsigned __int128;

}  // namespace mqlab
