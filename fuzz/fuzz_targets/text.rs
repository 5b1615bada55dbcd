#![no_main]

smidgen_fuzz::target!("text");
