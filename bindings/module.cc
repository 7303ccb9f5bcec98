#include "bindings/areas.h"

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled part of mqlab. Private: use the package.";
  mqlab::bindings::bind_scenario(m);
  mqlab::bindings::bind_settings(m);
  mqlab::bindings::bind_history(m);
  mqlab::bindings::bind_claims(m);
  mqlab::bindings::bind_modules(m);
  mqlab::bindings::bind_search(m);
#ifdef MQLAB_WITH_LIVE
  mqlab::bindings::bind_worker(m);
#endif
}
