#![no_main]

smidgen_fuzz::target!("csv");
