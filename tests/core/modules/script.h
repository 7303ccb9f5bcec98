// Leads a module through a script and writes down what it answers; the form of tests/golden/modules/*.txt.
//
// The first lines, up to a blank one, are the stage's own keys (TOML); `broker = "nats"` chooses the queue
// broker. Then commands, each followed by the effects it had:
//   > start | stop | tick
//   > deliver OP: 7@0:4 8@0:5        messages id@partition:position, answering fetch OP (none: an empty poll)
//   > ok OP [POSITION] | fail OP CLASS | unknown OP CLASS
//   > assigned GENERATION: 0:12 1:-1 | revoking GENERATION: 0 | lost GENERATION: 0
//   > wait 30ms                      time passes; a tick follows if the deadline has come
#pragma once
#include <string>

namespace mqlab::test {

/// The script with the module's answers in place of those it has.
std::string play(const std::string& script);

}  // namespace mqlab::test
