// How a fabric goes from one extension module to another: a capsule that holds a sim::Fabric.
#pragma once

namespace mqlab::bindings {

constexpr char fabric_capsule[] = "mqlab.Fabric";

}  // namespace mqlab::bindings
